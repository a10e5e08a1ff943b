#include "app/front/batch.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using namespace holdfast::app;

namespace {
Job shell(const std::string& name, const std::string& script) { return {name, {"/bin/sh", "-c", script}}; }
}  // namespace

TEST_CASE("C99: every job runs, the code is that of the first failure, signals and codes are told apart") {
  const BatchResult batch =
      run_batch({shell("good.toml", "exit 0"), shell("data.toml", "exit 65"), shell("killed.toml", "kill -9 $$"),
                 shell("crash.toml", "kill -SEGV $$"), shell("last.toml", "exit 0")});
  CHECK(batch.code == 65);
  REQUIRE(batch.jobs.size() == 5);
  CHECK(batch.jobs[2].signal == 9);
  CHECK(batch.jobs[2].code == 86);
  CHECK(batch.jobs[3].code == 70);
  CHECK(batch.jobs[4].started);
  CHECK(batch_table(batch) ==
        "good.toml    done\n"
        "data.toml    65  data bad beyond the allowed share\n"
        "killed.toml  86  killed by SIGKILL\n"
        "crash.toml   70  killed by SIGSEGV\n"
        "last.toml    done\n");
}

TEST_CASE("a program that cannot be started fails its own job only") {
  const BatchResult batch = run_batch({{"absent", {"/nonexistent/program"}}, shell("next", "exit 0")});
  CHECK(batch.code == 70);
  CHECK(batch.jobs[1].started);
}

TEST_CASE("a stop request is passed on once, no further job starts, and no child is left behind") {
  const pid_t runner = getpid();
  // The job tells the runner to stop, then waits for the signal that the runner must pass on.
  const BatchResult batch = run_batch(
      {shell("first", "trap 'exit 75' TERM; kill -TERM " + std::to_string(runner) + "; while :; do sleep 0.01; done"),
       shell("second", "exit 0")});
  CHECK(batch.code == 75);
  CHECK_FALSE(batch.jobs[1].started);
  CHECK(batch_table(batch).find("second  not started: a stop was asked for") != std::string::npos);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}
