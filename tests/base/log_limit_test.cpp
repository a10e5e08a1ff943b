// Repeated lines: which pass, what is told of the rest, and that the table of kinds is bounded.
#include "base/log_limit.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/log.hpp"

using namespace holdfast::base;
using namespace std::chrono_literals;

TEST_CASE("lines that differ in numbers only are one kind, and the rest of its minute is counted") {
  LogLimit limit(2);
  CHECK(limit.admit("sample 1 of a.gz is bad", 0s).pass);
  CHECK(limit.admit("sample 22 of a.gz is bad", 1s).pass);
  CHECK_FALSE(limit.admit("sample 333 of a.gz is bad", 2s).pass);
  CHECK(limit.admit("sample 4 of b.gz is bad", 3s).pass);
  CHECK_FALSE(limit.admit("sample 5 of a.gz is bad", 59s).pass);

  const auto next = limit.admit("sample 6 of a.gz is bad", 60s);
  CHECK(next.pass);
  REQUIRE(next.over.size() == 1);
  CHECK(left_out_text(next.over[0]) == "2 more lines like this were left out: sample 1 of a.gz is bad");
}

TEST_CASE("a minute that ended is told by the next line of any kind") {
  LogLimit limit(1);
  limit.admit("a", 0s);
  limit.admit("a", 1s);
  CHECK(limit.admit("b", 59s).over.empty());
  const auto later = limit.admit("b", 61s);
  REQUIRE(later.over.size() == 1);
  CHECK(left_out_text(later.over[0]) == "1 more line like this was left out: a");
}

TEST_CASE("what is still untold at the end can be taken once") {
  LogLimit limit(1);
  limit.admit("a 1", 0s);
  limit.admit("a 2", 0s);
  CHECK(limit.take_rest().size() == 1);
  CHECK(limit.take_rest().empty());
}

TEST_CASE("lines that are all different become one kind when the table is full") {
  LogLimit limit(1);
  std::int64_t passed = 0;
  for (int i = 0; i < 5000; ++i)
    passed +=
        limit.admit(std::string(1 + i % 100, static_cast<char>('a' + i / 200)) + std::string(1 + i / 100, 'z'), 1s)
            .pass;
  CHECK(passed == static_cast<std::int64_t>(LogLimit::kKinds) + 1);
}

TEST_CASE("C105: a warning a step for 100,000 steps leaves ten lines a minute and a count, errors all pass") {
  FILE* file = std::tmpfile();
  LogOptions options;
  options.descriptor = fileno(file);
  {
    FakeClock clock;
    RunLog log(options, clock);
    for (int step = 0; step < 100'000; ++step) {
      log.warn("step " + std::to_string(step) + " took long");
      clock.advance(1ms);
    }
    for (int i = 0; i < 20; ++i) log.error("error " + std::to_string(i));
  }
  std::string text(100'000, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  CHECK(std::count(text.begin(), text.end(), '\n') == 10 + 1 + 10 + 20 + 1);
  CHECK(text.find("1970-01-01T00:01:00Z warning: 59990 more lines like this were left out: step 0 took long\n") !=
        std::string::npos);
  CHECK(text.find("warning: 39990 more lines like this were left out: step 60000 took long\n") != std::string::npos);
}
