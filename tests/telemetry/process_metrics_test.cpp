#include "telemetry/metrics/process_metrics.hpp"

#include <doctest/doctest.h>

using namespace holdfast::telemetry;

TEST_CASE("fields of /proc/self/stat are found behind any name") {
  const ProcessReading reading = parse_process_stat(
      "42 (a) b (c) R 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 7 0 1000 123456 10 18446744073709551615\n", 100, 4096, 5000);
  CHECK(reading.cpu_seconds == 2.0);
  CHECK(reading.threads == 7.0);
  CHECK(reading.start_seconds == 5010.0);
  CHECK(reading.virtual_bytes == 123456.0);
  CHECK(reading.resident_bytes == 40960.0);
}

TEST_CASE("a text that ends early gives what it holds, one of another kind nothing") {
  CHECK_FALSE(parse_process_stat("", 100, 4096, 5000).cpu_seconds);
  CHECK_FALSE(parse_process_stat("42 (a", 100, 4096, 5000).threads);
  const ProcessReading reading = parse_process_stat("42 (a) R 1 2 3 4 5 6 7 8 9 10 150 50", 100, 4096, 0);
  CHECK(reading.cpu_seconds == 2.0);
  CHECK_FALSE(reading.resident_bytes);
  CHECK_FALSE(parse_process_stat("42 (a) R x x x", 100, 4096, 0).cpu_seconds);
}

TEST_CASE("this process has used time, memory and descriptors") {
  const ProcessReading reading = read_process();
  CHECK(reading.start_seconds.value_or(0) > 1.6e9);
  CHECK(reading.resident_bytes.value_or(0) > 1e5);
  CHECK(reading.open_fds.value_or(0) >= 3);
  CHECK(reading.max_fds.value_or(0) >= 3);
  CHECK(reading.threads.value_or(0) >= 1);
}
