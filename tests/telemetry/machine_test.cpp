#include "telemetry/machine.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace holdfast::telemetry;

TEST_CASE("the processor's name is that of the first line that has one") {
  CHECK(processor_name("processor\t: 0\nmodel name\t: Quick(R) CPU @ 3 GHz\nmodel name\t: Other\n") ==
        "Quick(R) CPU @ 3 GHz");
  CHECK(processor_name("Processor: none\n").empty());
  CHECK(processor_name("model name").empty());
  CHECK(processor_name("model name :\n").empty());
}

TEST_CASE("this machine has a host name, a system, cores and memory") {
  std::string names;
  for (const auto& [name, value] : machine_facts()) names += name + " ";
  for (const char* name : {"host ", "system ", "cores ", "memory_total_bytes "})
    CHECK(names.find(name) != std::string::npos);
}
