#include "app/front/location.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast::app;
using holdfast::test::error_text;
using holdfast::test::TempFolder;
using holdfast::test::write_text;

TEST_CASE("the worker is found in a build tree and in an installed prefix") {
  const TempFolder prefix;
  const std::string worker = prefix / "libexec/holdfast/holdfast-worker";
  std::filesystem::create_directories(prefix / "libexec/holdfast");
  std::filesystem::create_directories(prefix / "bin");
  write_text(worker, "");
  chmod(worker.c_str(), 0755);
  CHECK(worker_of(prefix / "holdfast") == worker);
  CHECK(worker_of(prefix / "bin/holdfast") == worker);
}

TEST_CASE("an installation without its worker says where it looked") {
  CHECK(error_text<holdfast::Error>([] { worker_of("/opt/x/bin/holdfast"); }) ==
        "holdfast: error[install.no_worker]: its worker is neither at "
        "/opt/x/bin/libexec/holdfast/holdfast-worker nor at /opt/x/libexec/holdfast/holdfast-worker\n  hint: install "
        "again, or build the target holdfast-worker");
}
