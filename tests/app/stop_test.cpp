// What stops a run from outside, and what the service manager hears of it.
#include "app/worker/stop.hpp"

#include <doctest/doctest.h>

#include "base/clock.hpp"

using namespace holdfast;
using namespace holdfast::app;
using namespace std::chrono_literals;

TEST_CASE("a run begins to stop before its wall time is over: by the grace time, at most by a tenth") {
  CHECK(!deadline({}, 25s, 7s));
  CHECK(deadline(1h, 25s, 7s)->at == 7s + 1h - 25s);
  CHECK(deadline(100s, 25s, 7s)->at == 97s);
  CHECK(deadline(90min, 25s, 0s)->why == "run.max_wall_time of 5400 s is nearly over");
}

TEST_CASE("C58: the wall clock that jumps an hour back or on neither stops a run nor keeps it; time that passes does") {
  const base::SignalWatcher watcher;
  Service service({});
  base::FakeClock clock;
  const OutsideStop stop(watcher, deadline(100s, 25s, clock.monotonic()), service, clock);
  clock.advance(50s);
  for (const auto jump : {-1h, 1h}) {
    clock.set_wall(clock.wall() + jump);
    CHECK(stop.asked() == nullptr);
    CHECK(!stop.raised());
  }
  clock.advance(40s);
  REQUIRE(stop.asked() != nullptr);
  CHECK(*stop.asked() == "run.max_wall_time of 100 s is nearly over");
  CHECK(stop.raised());
  CHECK(std::string(stop.kind()) == "max_wall_time");
}
