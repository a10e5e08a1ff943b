// The run's log: formats, escaping, levels, failing descriptors, threads.
#include "base/log.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "temp_folder.hpp"

using namespace holdfast::base;
using namespace holdfast;

namespace {

/// Collects what the log writes to "stderr".
class Captured {
 public:
  Captured() : descriptor_(::open((folder_ / "err").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  ~Captured() { ::close(descriptor_); }
  [[nodiscard]] LogOptions options() const {
    LogOptions options;
    options.descriptor = descriptor_;
    return options;
  }
  [[nodiscard]] std::string text() const { return test::read_text(folder_ / "err"); }
  [[nodiscard]] std::string path(const char* name) const { return folder_ / name; }

 private:
  test::TempFolder folder_;
  int descriptor_;
};

}  // namespace

TEST_CASE("human lines carry UTC, the level word unless info, and escaped text") {
  const Captured captured;
  FakeClock clock;
  RunLog log(captured.options(), clock);
  log.debug("hidden");
  log.info("plain");
  log.warn("two\nlines \x1b[2J");
  log.error("bad");
  CHECK(captured.text() ==
        "1970-01-01T00:00:00Z plain\n"
        "1970-01-01T00:00:00Z warning: two\n    lines \\x1b[2J\n"
        "1970-01-01T00:00:00Z error: bad\n");
}

TEST_CASE("JSON lines are one strict object each") {
  const Captured captured;
  FakeClock clock;
  LogOptions options = captured.options();
  options.json = true;
  options.level = LogLevel::kDebug;
  RunLog log(options, clock);
  log.debug("a \"b\"\n\xff");
  CHECK(captured.text() ==
        "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"debug\",\"text\":\"a \\\"b\\\"\\n\xEF\xBF\xBD\"}\n");
}

TEST_CASE("quiet shows warnings only, while the file gets everything") {
  const Captured captured;
  FakeClock clock;
  LogOptions options = captured.options();
  options.quiet = true;
  RunLog log(options, clock);
  REQUIRE(log.open_file(captured.path("run.log")));
  log.info("one");
  log.warn("two");
  CHECK(captured.text() == "1970-01-01T00:00:00Z warning: two\n");
  CHECK(test::read_text(captured.path("run.log")) == "1970-01-01T00:00:00Z one\n1970-01-01T00:00:00Z warning: two\n");
}

TEST_CASE("the level can be lowered and colour marks only the level word") {
  const Captured captured;
  FakeClock clock;
  LogOptions options = captured.options();
  options.color = true;
  RunLog log(options, clock);
  log.set_level(LogLevel::kWarn);
  log.info("hidden");
  log.warn("seen");
  CHECK(captured.text() == "1970-01-01T00:00:00Z \x1b[33mwarning:\x1b[0m seen\n");
}

TEST_CASE("a log file on a full disk is told once and stops nothing") {
  const Captured captured;
  FakeClock clock;
  RunLog log(captured.options(), clock);
  REQUIRE(log.open_file("/dev/full"));
  log.info("one");
  log.info("two");
  CHECK(captured.text() ==
        "1970-01-01T00:00:00Z one\n"
        "1970-01-01T00:00:00Z warning: cannot write /dev/full: No space left on device; the run goes on without it\n"
        "1970-01-01T00:00:00Z two\n");
}

TEST_CASE("a log file that cannot be opened, or is a link, is told and refused") {
  const Captured captured;
  FakeClock clock;
  RunLog log(captured.options(), clock);
  CHECK(!log.open_file(captured.path("absent/run.log")));
  std::filesystem::create_symlink("err", captured.path("link"));
  CHECK(!log.open_file(captured.path("link")));
  CHECK(captured.text() == "1970-01-01T00:00:00Z warning: cannot write " + captured.path("absent/run.log") +
                               ": No such file or directory; the run goes on without it\n"
                               "1970-01-01T00:00:00Z warning: cannot write " +
                               captured.path("link") +
                               ": Too many levels of symbolic links; the run goes on without it\n");
}

TEST_CASE("a stderr that fails is told once in the file") {
  const Captured captured;
  FakeClock clock;
  LogOptions options;
  options.descriptor = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  {
    RunLog log(options, clock);
    REQUIRE(log.open_file(captured.path("run.log")));
    log.info("one");
    log.info("two");
  }
  ::close(options.descriptor);
  CHECK(test::read_text(captured.path("run.log")) ==
        "1970-01-01T00:00:00Z one\n"
        "1970-01-01T00:00:00Z warning: cannot write to stderr: No space left on device; the run goes on without it\n"
        "1970-01-01T00:00:00Z two\n");
}

TEST_CASE("lines of many threads stay whole and the bar is cleared before each") {
  const Captured captured;
  int cleared = 0;
  {
    RunLog log(captured.options());
    log.before_line([&] { ++cleared; });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&log, t] {
        for (int i = 0; i < 100; ++i) log.info(std::string(50, static_cast<char>('a' + t)));
      });
    for (std::thread& thread : threads) thread.join();
  }
  const std::string text = captured.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 400);
  CHECK(text.size() == 400 * (21 + 50 + 1));
  CHECK(cleared == 400);
}

TEST_CASE("a log file that grows too large becomes FILE.1, and no line is lost or cut on the way") {
  const Captured captured;
  FakeClock clock;
  const std::string path = captured.path("run.log");
  RunLog log(captured.options(), clock);
  REQUIRE(log.open_file(path, 200));
  for (int i = 0; i < 6; ++i) log.error("line " + std::to_string(i) + " of thirty bytes or so");
  const auto numbers = [](const std::string& text) {
    std::string found;
    for (auto at = text.find("line "); at != std::string::npos; at = text.find("line ", at + 1)) found += text[at + 5];
    return found;
  };
  const std::string old = test::read_text(path + ".1"), fresh = test::read_text(path);
  CHECK(old.size() <= 200);
  CHECK(numbers(old) + numbers(fresh) == "012345");
  CHECK(old.ends_with("\n"));
  for (int i = 0; i < 20; ++i) log.error("more");
  CHECK(test::read_text(path + ".1").size() + test::read_text(path).size() <= 400);
}

TEST_CASE("a log file that cannot be moved goes on growing") {
  const Captured captured;
  FakeClock clock;
  const std::string path = captured.path("run.log");
  std::filesystem::create_directories(path + ".1/taken");
  RunLog log(captured.options(), clock);
  REQUIRE(log.open_file(path, 100));
  for (int i = 0; i < 10; ++i) log.error("a line of this log");
  const std::string text = test::read_text(path);
  CHECK(std::count(text.begin(), text.end(), '\n') == 10);
}
