// The oom_checkpoint hook: when it asks for a save.
#include "oom_checkpoint/oom_checkpoint.hpp"

#include <doctest/doctest.h>

#include "fixtures/components.hpp"

TEST_CASE("oom_checkpoint asks for a save when nothing is left to try, and not before") {
  holdfast::test::Lender lender;
  holdfast::plugins::OomCheckpoint hook({}, lender.context("hook.oom_checkpoint"));
  holdfast::OomReport report;
  for (const char* rung : {"retry", "halve_micro_batch", "recompute", "offload_optimizer", ""}) {
    holdfast::Requests requests;
    report.rung = rung;
    hook.out_of_memory(report, requests);
    CHECK_FALSE(requests.save_reason);
  }
  holdfast::Requests requests;
  report.rung = "save";
  hook.out_of_memory(report, requests);
  CHECK(requests.save_reason == "oom");
  CHECK_FALSE(requests.stop_code);
}
