// Durations, sizes, intervals and metric goals as text.
#include "spec/units.hpp"

#include <doctest/doctest.h>

using namespace holdfast;
using namespace holdfast::spec;
using namespace std::chrono_literals;

TEST_CASE("a duration is read in every spelling of its unit") {
  for (const char* text : {"90 s", "90s", " 90 sec ", "90 seconds", "1.5 min", "1.5 minutes", "90000 ms", "0.025 h"})
    CHECK_MESSAGE(parse_duration(text).value == Duration(90s), text);
  CHECK(parse_duration("24h").value == Duration(24h));
  CHECK(parse_duration("1 d").value == Duration(24h));
  CHECK(parse_duration("2 days").value == Duration(48h));
  CHECK(parse_duration("0 s").value == Duration(0));
  CHECK(parse_duration("7 us").value == Duration(7us));
  CHECK(parse_duration("9223372036854775807 ns").value == Duration::max());
}

TEST_CASE("what is no duration is told why") {
  const auto problem = [](const char* text) { return parse_duration(text).problem; };
  CHECK(problem("") == "is empty");
  CHECK(problem("   ") == "is empty");
  CHECK(problem("10") == "has no unit");
  CHECK(problem("-1 s") == "is negative");
  CHECK(problem("min") == "does not begin with a number");
  CHECK(problem("1. s") == "does not begin with a number");
  CHECK(problem(". s") == "does not begin with a number");
  CHECK(problem("1..5 s") == "does not begin with a number");
  CHECK(problem("5 m") == "has the unknown unit 'm'");
  CHECK(problem("1e3 s") == "has the unknown unit 'e3 s'");
  CHECK(problem("0.1 ns") == "is finer than one nanosecond");
  CHECK(problem("9223372036854775808 ns") == "is too large");
  CHECK(problem("106752 d") == "is too large");
  CHECK(problem("9999999999999999999999999999999999999999 s") == "is too large");
  CHECK(parse_duration("5 m").hint == R"(write for example "90 s", "10 min" or "24 h" (units: ms, s, min, h, d))");
}

TEST_CASE("a size is read in powers of 1000 and of 1024") {
  CHECK(parse_size("512MiB").value == Bytes{512 << 20});
  CHECK(parse_size("2GB").value == Bytes{2'000'000'000});
  CHECK(parse_size("2.5 GB").value == Bytes{2'500'000'000});
  CHECK(parse_size("1 KiB").value == Bytes{1024});
  CHECK(parse_size("0 B").value == Bytes{0});
  CHECK(parse_size("9223372036854775807B").value == Bytes{9223372036854775807});
  CHECK(parse_size("8388608 TiB").problem == "is too large");
  CHECK(parse_size("0.5 B").problem == "is finer than one byte");
  CHECK(parse_size("512M").problem == "has the unknown unit 'M'");
  CHECK(parse_size("512mb").problem == "has the unknown unit 'mb'");
  CHECK(parse_size("512M").hint ==
        R"(write for example "512MiB" or "2GB" (units: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB))");
}

TEST_CASE("an interval counts updates, epochs or time, and is never zero") {
  CHECK(parse_interval("500 updates").value == Interval{Interval::Unit::kUpdates, 500, {}});
  CHECK(parse_interval("1 update").value == Interval{Interval::Unit::kUpdates, 1, {}});
  CHECK(parse_interval("2epochs").value == Interval{Interval::Unit::kEpochs, 2, {}});
  CHECK(parse_interval("10 min").value == Interval{Interval::Unit::kTime, 0, 10min});
  CHECK(parse_interval("0 updates").problem == "is zero");
  CHECK(parse_interval("0 s").problem == "is zero");
  CHECK(parse_interval("0.5 epoch").problem == "is not a whole number of epochs");
  CHECK(parse_interval("9223372036854775808 updates").problem == "is too large");
  CHECK(parse_interval("5 steps").problem == "has the unknown unit 'steps'");
  CHECK(parse_interval("500").problem == "has no unit");
  CHECK(parse_interval("5 steps").hint ==
        R"(write for example "500 updates", "1 epoch" or "10 min" (units: updates, epochs, s, min, h, d))");
}

TEST_CASE("what is formatted reads back as the same value") {
  for (const std::int64_t count : {0L, 1L, 999L, 1000L, 60'000'000'000L, 86'400'000'000'000L, 9223372036854775807L}) {
    CHECK(parse_duration(format_duration(Duration(count))).value == Duration(count));
    CHECK(parse_size(format_size(Bytes{count})).value == Bytes{count});
    if (count == 0) continue;
    for (const Interval& each :
         {Interval{Interval::Unit::kUpdates, count, {}}, Interval{Interval::Unit::kEpochs, count, {}},
          Interval{Interval::Unit::kTime, 0, Duration(count)}})
      CHECK(parse_interval(format_interval(each)).value == each);
  }
  CHECK(format_duration(25s) == "25 s");
  CHECK(format_duration(600s) == "10 min");
  CHECK(format_size({512 << 20}) == "512MiB");
  CHECK(format_size({2'000'000'000}) == "2GB");
  CHECK(format_interval({Interval::Unit::kEpochs, 1, {}}) == "1 epoch");
  CHECK(format_interval({Interval::Unit::kUpdates, 500, {}}) == "500 updates");
  CHECK(format_number(1) == "1.0");
  CHECK(format_number(0.001) == "0.001");
  CHECK(format_number(1e-8) == "1e-08");
}

TEST_CASE("a metric goal names a score of the evaluation and a direction") {
  CHECK(parse_metric_goal("eval.loss:min").value->metric == "loss");
  CHECK_FALSE(parse_metric_goal("eval.loss:min").value->maximise);
  CHECK(parse_metric_goal("eval.accuracy:max").value->maximise);
  CHECK(parse_metric_goal("eval.loss").problem == "does not end in \":min\" or \":max\"");
  CHECK(parse_metric_goal("loss:min").problem == "does not begin with \"eval.\"");
  CHECK(parse_metric_goal("eval.:min").problem == "names no metric");
}
