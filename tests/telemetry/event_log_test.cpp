#include "telemetry/event_log.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>

#include "temp_folder.hpp"

using namespace holdfast::telemetry;
using holdfast::test::TempFolder;

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Makes every file of this process end at `bytes`, as a full disk would.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    old_ = std::signal(SIGXFSZ, SIG_IGN);
    set(bytes);
  }
  ~SizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_);
  }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;
  void set(rlim_t bytes) const {
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }

 private:
  rlimit before_{};
  void (*old_)(int) = nullptr;
};

}  // namespace

TEST_CASE("an event is one line of strict JSON: NaN and infinity are null, texts are escaped") {
  CHECK(event_line("2026-11-30T10:15:00.000Z", "eval", 2,
                   {{"update", std::int64_t{5}},
                    {"loss", std::nan("")},
                    {"top", INFINITY},
                    {"accuracy", 0.5},
                    {"best", true},
                    {"text", std::string("a\"\n")},
                    {"none", nullptr}}) ==
        R"({"time":"2026-11-30T10:15:00.000Z","event":"eval","attempt":2,"update":5,"loss":null,"top":null,)"
        R"("accuracy":0.5,"best":true,"text":"a\"\n","none":null})");
}

TEST_CASE("half a line of a killed writer is removed at the next start") {
  const TempFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  std::ofstream(path) << "{\"event\":\"start\"}\n{\"event\":\"upd";
  EventLog log(path, 2);
  CHECK(log.append("t", "resume", {}));
  CHECK(read(path) == "{\"event\":\"start\"}\n{\"time\":\"t\",\"event\":\"resume\",\"attempt\":2}\n");
}

TEST_CASE("a full disk loses whole lines only, counts them, and says so when there is room again") {
  const TempFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  EventLog log(path, 1);
  REQUIRE(log.append("t", "start", {}));
  const std::string before = read(path);
  {
    const SizeLimit limit(before.size() + 10);
    CHECK_FALSE(log.append("t", "update", {}));
    CHECK_FALSE(log.append("t", "update", {}));
    CHECK(read(path) == before);
    CHECK_FALSE(log.failure().empty());
  }
  CHECK(log.append("t", "end", {}));
  CHECK(log.lost() == 2);
  CHECK(read(path) == before + "{\"time\":\"t\",\"event\":\"lost\",\"attempt\":1,\"lines\":2}\n" +
                          "{\"time\":\"t\",\"event\":\"end\",\"attempt\":1}\n");
}

TEST_CASE("a log that cannot be opened makes every append fail, with the system's words") {
  EventLog log("/nonexistent/events.jsonl", 1);
  CHECK(log.failure() == "No such file or directory");
  CHECK_FALSE(log.append("t", "start", {}));
  CHECK(log.lost() == 1);
}

TEST_CASE("a FIFO in place of events.jsonl is refused at once") {
  const holdfast::test::TempFolder folder;
  REQUIRE(mkfifo((folder / "events.jsonl").c_str(), 0600) == 0);
  EventLog log(folder / "events.jsonl", 1);
  CHECK_FALSE(log.append("t", "start", {}));
  CHECK(log.failure() == "not a regular file");
}
