#include "report/moment.hpp"

#include <doctest/doctest.h>

using namespace holdfast::report;

TEST_CASE("times are read as Unix seconds") {
  CHECK(unix_seconds("1970-01-01T00:00:00Z") == 0);
  CHECK(unix_seconds("2026-11-30T10:15:00Z") == 1796033700);
  CHECK(unix_seconds("2026-11-30T10:15:00.123Z") == 1796033700);
}

TEST_CASE("times are shown without what nobody reads, other texts as they are") {
  CHECK(clock_text("2026-11-30T10:15:00.123Z") == "2026-11-30 10:15:00");
  CHECK(clock_text("yesterday") == "yesterday");
}

TEST_CASE("what is no time of ours is none") {
  for (const char* text :
       {"", "today", "2026-11-30", "2026-11-30T10:15:00", "2026-11-30T10:15:00+01:00", "2026-13-30T10:15:00Z",
        "2026-02-30T10:15:00Z", "2026-11-30T24:15:00Z", "2026-1a-30T10:15:00Z", "-026-11-30T10:15:00Z"})
    CHECK_MESSAGE(!unix_seconds(text), text);
}
