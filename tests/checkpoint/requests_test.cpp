// Requests for a checkpoint: both sides of the folder requests/.
#include "checkpoint/requests.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;
namespace fs = std::filesystem;

TEST_CASE("a request is seen, answered by the checkpoint begun after it, and its answer taken once") {
  const test::TempFolder temp{test::Where::kMemory};
  RequestBox box(temp.path());
  CHECK(!box.open());
  CHECK(!fs::exists(temp / "requests"));
  const std::string request = place_request(temp.path());
  CHECK(box.open());
  CHECK(box.open());
  CHECK(!take_answer(temp.path(), request));
  box.begun();
  CHECK(!box.open());
  const std::string later = place_request(temp.path());
  box.settled({true, 500, "update-000000500", ""});
  const auto answer = take_answer(temp.path(), request);
  REQUIRE(answer);
  CHECK(answer->ok);
  CHECK(answer->update == 500);
  CHECK(answer->path == "update-000000500");
  CHECK(!take_answer(temp.path(), request));
  CHECK(box.open());  // the later one waits for the next checkpoint
  box.begun();
  box.settled({false, 501, "", "the disk is full"});
  const auto failed = take_answer(temp.path(), later);
  REQUIRE(failed);
  CHECK(!failed->ok);
  CHECK(failed->text == "the disk is full");
  CHECK(fs::is_empty(temp / "requests"));
}

TEST_CASE("a request that was taken back gets no answer; strangers in the folder are left alone") {
  const test::TempFolder temp{test::Where::kMemory};
  RequestBox box(temp.path());
  const std::string request = place_request(temp.path());
  test::write_text(temp / "requests/note.txt", "mine");
  fs::create_directory(temp / "requests/checkpoint-0000000000000000");
  CHECK(box.open());
  box.begun();
  withdraw_request(temp.path(), request);
  box.settled({true, 1, "update-000000001", ""});
  CHECK(!take_answer(temp.path(), request));
  CHECK(!box.open());
  CHECK(fs::exists(temp / "requests/note.txt"));
  withdraw_request(temp / "nowhere", request);
}

TEST_CASE("what was asked of a process that is gone is forgotten at the next start") {
  const test::TempFolder temp{test::Where::kMemory};
  const std::string request = place_request(temp.path());
  test::write_text(temp / ("requests/" + request + ".done"), "{}");
  test::write_text(temp / "requests/note.txt", "mine");
  RequestBox box(temp.path());
  CHECK(!box.open());
  CHECK(!fs::exists(temp / ("requests/" + request)));
  CHECK(!fs::exists(temp / ("requests/" + request + ".done")));
  CHECK(fs::exists(temp / "requests/note.txt"));
}

TEST_CASE("an answer that nobody could have given is refused in words") {
  const test::TempFolder temp{test::Where::kMemory};
  const std::string request = place_request(temp.path());
  const std::string path = temp / ("requests/" + request + ".done");
  test::write_text(path, R"({"ok": 1})");
  CHECK(test::error_text<Error>([&] { (void)take_answer(temp.path(), request); }) ==
        path +
            ": error[request.answer]: this is no answer of the process that works there\n"
            "  hint: look into the run with `holdfast status`");
}
