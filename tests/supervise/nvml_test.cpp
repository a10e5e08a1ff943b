// NVML by name, against a small library of our own that the loader finds first.
#include "supervise/nvml.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace holdfast::supervise;

namespace {

/// A variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

bool has_fake() { return std::getenv("LD_LIBRARY_PATH") != nullptr; }

}  // namespace

TEST_CASE("a healthy GPU is told with its figures" * doctest::skip(!has_fake())) {
  const auto found = ask_nvml();
  REQUIRE(found);
  CHECK(found.value.status == 0);
  CHECK(found.value.driver == "550.54.15");
  CHECK(found.value.cuda == 12040);
  REQUIRE(found.value.gpus.size() == 1);
  CHECK(found.value.gpus[0].name == "Fake GPU");
  CHECK(found.value.gpus[0].temperature_celsius == 40);
  CHECK(found.value.gpus[0].memory_total == std::int64_t{24} << 30);
}

TEST_CASE("a driver of another version than the library is status 18" * doctest::skip(!has_fake())) {
  const Variable init("FAKE_NVML_INIT", "18");
  CHECK(ask_nvml().value.status == 18);
}

TEST_CASE("a lost GPU keeps its status, and heat its bits" * doctest::skip(!has_fake())) {
  {
    const Variable lost("FAKE_NVML_DEVICE", "15");
    REQUIRE(ask_nvml().value.gpus.size() == 1);
    CHECK(ask_nvml().value.gpus[0].status == 15);
  }
  const Variable heat("FAKE_NVML_REASONS", "64");
  CHECK(ask_nvml().value.gpus[0].clock_reasons == 64);
}

TEST_CASE("the watch of a recorder keeps the last XID" * doctest::skip(!has_fake())) {
  const Variable xid("FAKE_NVML_XID", "79");
  const auto watch = GpuWatch::open();
  REQUIRE(watch);
  Gpu first, second;
  watch->sample(first);
  watch->sample(second);
  CHECK(first.status == 0);
  CHECK(first.last_xid == 79);
  CHECK(second.last_xid == 79);
  CHECK(second.power_milliwatts == 90000);
}

TEST_CASE("a library that fails gives its status with each sample" * doctest::skip(!has_fake())) {
  const Variable init("FAKE_NVML_INIT", "9");
  const auto watch = GpuWatch::open();
  REQUIRE(watch);
  Gpu gpu;
  watch->sample(gpu);
  CHECK(gpu.status == 9);
  CHECK(gpu.temperature_celsius == kUnknown);
}
