// UTC texts and the fake clock.
#include "base/clock.hpp"

#include <doctest/doctest.h>

using namespace holdfast::base;
using namespace std::chrono_literals;

TEST_CASE("UTC is written in the compact and in the RFC 3339 form") {
  const WallTime time = std::chrono::sys_days{std::chrono::year{2026} / 11 / 30} + 10h + 15min + 250ms;
  CHECK(compact_utc(time) == "20261130T101500Z");
  CHECK(rfc3339_utc(time) == "2026-11-30T10:15:00.250Z");
  CHECK(rfc3339_utc(WallTime{}) == "1970-01-01T00:00:00.000Z");
  CHECK(rfc3339_utc(WallTime{} - 1ms) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("the fake clock moves only when told, and setting the wall clock moves nothing else") {
  FakeClock clock;
  clock.advance(1500ms);
  CHECK(clock.monotonic() == 1500ms);
  CHECK(rfc3339_utc(clock.wall()) == "1970-01-01T00:00:01.500Z");
  clock.set_wall(WallTime{} + 24h);
  CHECK(clock.monotonic() == 1500ms);
  CHECK(compact_utc(clock.wall()) == "19700102T000000Z");
}

TEST_CASE("the real monotonic clock never goes back") {
  auto last = Clock::real().monotonic();
  for (int i = 0; i < 1000; ++i) {
    const auto now = Clock::real().monotonic();
    CHECK(now >= last);
    last = now;
  }
}
