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

TEST_CASE("C100: a stop request before a worker listens waits for it; an ignored SIGHUP stays ignored") {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);  // run_batch leaves its signals blocked
  signal(SIGHUP, SIG_IGN);
  const std::string blocked = "exec grep -q '^SigBlk:.*4002$' /proc/self/status";  // SIGTERM and SIGINT, proc(5)
  Job worker = shell("worker", blocked);
  worker.takes_signals = true;
  CHECK(run_batch({worker}).code == 0);
  worker.arguments[2] = "kill -HUP " + std::to_string(getpid());
  CHECK(run_batch({worker, shell("next", "exit 0")}).code == 0);
  signal(SIGHUP, SIG_DFL);
}
