// The table of exit codes is complete and ordered.
#include "base/exit_codes.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

using namespace holdfast;
using namespace holdfast::base;

TEST_CASE("every exit code of the contract has one row, in ascending order, with words in every column") {
  const std::vector<int> contract = {0, 64, 65, 66, 69, 70, 73, 74, 75, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88};
  std::vector<int> listed;
  std::set<std::string_view> names;
  for (const ExitCodeRow& row : exit_codes()) {
    listed.push_back(static_cast<int>(row.code));
    names.insert(row.name);
    CHECK(!row.meaning.empty());
    CHECK(!row.scheduler.empty());
    CHECK(!row.supervisor.empty());
  }
  CHECK(listed == contract);
  CHECK(names.size() == contract.size());
}

TEST_CASE("a code is found by number and a foreign one reads as a bug") {
  CHECK(exit_code_row(ExitCode::kIoError).name == "io_error");
  CHECK(exit_code_row(ExitCode::kStoppedAfterSave).scheduler == "retry");
  CHECK(exit_code_row(static_cast<ExitCode>(3)).name == "bug");
}
