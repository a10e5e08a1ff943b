// Whether states are written on another thread, and why not.
#include "app/worker/saving_way.hpp"

#include <doctest/doctest.h>

using namespace holdfast::app;

TEST_CASE("states are written behind where the host holds a second one with a tenth to spare") {
  CHECK(saving_way(true, 1 << 20, {}).behind);
  CHECK(!saving_way(false, 1 << 20, {}).behind);
  CHECK(saving_way(false, 1 << 20, {}).why.empty());
  CHECK(saving_way(true, 90, {100, 100, 100}).behind);
  for (const HostRoom& room : {HostRoom{98, 1000, 1000}, HostRoom{1000, 98, 1000}, HostRoom{1000, 1000, 98}})
    CHECK(!saving_way(true, 90, room).behind);
}

TEST_CASE("the limit that is too narrow is named with both figures") {
  const std::int64_t mib = 1 << 20;
  CHECK(saving_way(true, 8 * mib, {4 * mib, {}, {}}).why ==
        "a copy of the state takes 8.0 MiB of host memory, and 4.0 MiB are left of memory.host_budget");
  CHECK(saving_way(true, 8 * mib, {{}, 4 * mib, {}}).why ==
        "a copy of the state takes 8.0 MiB of host memory, and 4.0 MiB are left on this machine");
  CHECK(saving_way(true, 8 * mib, {{}, {}, -1}).why ==
        "a copy of the state takes 8.0 MiB of host memory, and 0 B are left in the control group of this process");
}

TEST_CASE("this machine can tell what it has left") {
  const HostRoom room = host_room();
  REQUIRE(room.machine);
  CHECK(*room.machine > 0);
}
