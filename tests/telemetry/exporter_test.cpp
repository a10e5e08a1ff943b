// metrics.prom, and what is said when the endpoint cannot be had.
#include "telemetry/metrics/exporter.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "telemetry/client.hpp"
#include "telemetry/exposition.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::telemetry;
using holdfast::test::read_exposition;
using holdfast::test::TempFolder;

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A log whose lines can be read, without their times.
class ReadableLog {
 public:
  explicit ReadableLog(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)), log_(options()) {}
  ~ReadableLog() { ::close(fd_); }
  ReadableLog(const ReadableLog&) = delete;
  ReadableLog& operator=(const ReadableLog&) = delete;
  base::RunLog* log() { return &log_; }
  [[nodiscard]] std::string lines() const {
    std::string out, line;
    std::ifstream file(path_);
    while (std::getline(file, line)) out += line.substr(line.find(' ') + 1) + "\n";
    return out;
  }

 private:
  [[nodiscard]] base::LogOptions options() const {
    base::LogOptions options;
    options.descriptor = fd_;
    return options;
  }
  std::string path_;
  int fd_;
  base::RunLog log_;
};

ExporterSettings settings(const TempFolder& folder, ReadableLog& log, const char* listen) {
  ExporterSettings out;
  out.folder = folder.path();
  if (listen) out.listen = base::parse_listen_address(listen).address;
  out.log = log.log();
  return out;
}

}  // namespace

TEST_CASE("metrics.prom holds the last exposition when the run has ended, without any endpoint") {
  const TempFolder folder;
  ReadableLog log(folder / "log");
  RunMetrics metrics({"r"});
  Exporter exporter(metrics, settings(folder, log, nullptr));
  metrics.ended(ExitCode::kOk);
  exporter.finish();
  CHECK(read_exposition(read(folder / "metrics.prom")).only("holdfast_run_last_exit_code") == 0);
  CHECK(read_exposition(read(folder / "metrics.prom")).only("holdfast_run_end_timestamp_seconds") ==
        read_exposition(metrics.text()).only("holdfast_run_end_timestamp_seconds"));
  CHECK(exporter.url().empty());
  CHECK(log.lines().empty());
}

TEST_CASE("C98: metrics.prom is complete in each of 10,000 readings while it is written anew") {
  const TempFolder folder(holdfast::test::Where::kMemory);
  ReadableLog log(folder / "log");
  RunMetrics metrics({"r"});
  auto given = settings(folder, log, nullptr);
  given.every = std::chrono::microseconds(100);
  Exporter exporter(metrics, given);
  for (int readable = 0; readable < 10'000;) {
    const std::string text = read(folder / "metrics.prom");
    if (text.empty() && readable == 0) continue;  // not there yet
    REQUIRE(read_exposition(text).only("holdfast_updates_total") == 0);
    ++readable;
  }
  exporter.finish();
  CHECK(read_exposition(read(folder / "metrics.prom")).only("holdfast_updates_total") == 0);
}

TEST_CASE("the endpoint serves what the run tells, also after the end") {
  const TempFolder folder;
  ReadableLog log(folder / "log");
  RunMetrics metrics({"r"});
  Exporter exporter(metrics, settings(folder, log, "127.0.0.1:0"));
  const std::string url = exporter.url();
  const int port = std::stoi(url.substr(url.rfind(':') + 1));
  metrics.ended(ExitCode::kDiverged);
  exporter.finish();
  const std::string answer = test::ask(port, "GET", "/metrics");
  CHECK(read_exposition(answer.substr(answer.find("\r\n\r\n") + 4)).only("holdfast_run_last_exit_code") == 82);
  CHECK(log.lines() == "metrics at " + url + "\n");
}

TEST_CASE("C94: a port that is taken is one warning, and metrics.prom is written all the same") {
  const TempFolder folder;
  ReadableLog log(folder / "log");
  RunMetrics metrics({"r"});
  std::string problem;
  const auto other =
      Endpoint::open(*base::parse_listen_address("127.0.0.1:0").address, [] { return std::string(); }, problem);
  const std::string address = other->address().text();
  Exporter exporter(metrics, settings(folder, log, address.c_str()));
  exporter.finish();
  CHECK(exporter.url().empty());
  CHECK(log.lines() ==
        "warning: metrics: cannot listen on " + address +
            ": Address already in use; training goes on without the endpoint, metrics.prom is written as "
            "ever\n");
  CHECK_FALSE(read(folder / "metrics.prom").empty());
}

TEST_CASE("an address that others can reach is warned of once") {
  const TempFolder folder;
  ReadableLog log(folder / "log");
  RunMetrics metrics({"r"});
  const Exporter exporter(metrics, settings(folder, log, "0.0.0.0:0"));
  const std::string url = exporter.url(), port = url.substr(17, url.rfind('/') - 17);
  CHECK(log.lines() == "warning: metrics: whoever reaches 0.0.0.0:" + port +
                           " can read them, without a password; with 127.0.0.1 only this machine could\nmetrics at " +
                           url + "\n");
}

TEST_CASE("a metrics.prom that cannot be written is told once and ends nothing") {
  const TempFolder folder;
  ReadableLog log(folder / "log");
  RunMetrics metrics({"r"});
  auto given = settings(folder, log, nullptr);
  given.folder += "/gone";
  Exporter exporter(metrics, given);
  exporter.finish();
  CHECK(log.lines() == "warning: metrics.prom cannot be written, training goes on: " + given.folder +
                           ": cannot read: No such file or directory (ENOENT)\n");
}

TEST_CASE("the file for node_exporter is the same exposition, readable by all, without a timestamp") {
  const TempFolder folder;
  ReadableLog log(folder / "log");
  RunMetrics metrics({"r"});
  auto given = settings(folder, log, nullptr);
  given.textfile = folder / "holdfast_r.prom";
  Exporter exporter(metrics, given);
  metrics.ended(ExitCode::kOk);
  exporter.finish();
  const std::string text = read(folder / "holdfast_r.prom");
  CHECK(text == read(folder / "metrics.prom"));
  CHECK(read_exposition(text).only("holdfast_run_last_exit_code") == 0);
  namespace fs = std::filesystem;
  CHECK((fs::status(folder / "holdfast_r.prom").permissions() & fs::perms::all) == fs::perms(0644));
  int files = 0;  // no temporary file is left that a collector could read
  for (const auto& entry : fs::directory_iterator(folder.path())) files += entry.path().filename() == "log" ? 0 : 1;
  CHECK(files == 2);
}

TEST_CASE("sinks that do not take the metrics are told once each, counted, and end nothing") {
  const TempFolder folder;
  ReadableLog log(folder / "log");
  RunMetrics metrics({"r"});
  auto given = settings(folder, log, nullptr);
  given.every = std::chrono::microseconds(100);
  given.textfile = "/proc/none/r.prom";
  given.push = PushSettings{};
  given.push->url = "http://127.0.0.1:1";
  Exporter exporter(metrics, given);
  while (
      read_exposition(metrics.text())
              .value("holdfast_metrics_push_failures_total", {{"run", "r"}, {"sink", "textfile"}}) < 3 ||
      read_exposition(metrics.text()).value("holdfast_metrics_push_failures_total", {{"run", "r"}, {"sink", "push"}}) <
          1)
    std::this_thread::yield();
  exporter.finish();
  const auto found = read_exposition(metrics.text());
  CHECK(found.value("holdfast_metrics_push_failures_total", {{"run", "r"}, {"sink", "push"}}) == 2);
  CHECK(found.value("holdfast_metrics_push_failures_total", {{"run", "r"}, {"sink", "file"}}) == 0);
  CHECK(found.value("holdfast_metrics_last_push_timestamp_seconds", {{"run", "r"}, {"sink", "file"}}) > 0);
  const std::string lines = log.lines();
  const auto count = [&](const std::string& part) {
    int times = 0;
    for (auto at = lines.find(part); at != std::string::npos; at = lines.find(part, at + 1)) ++times;
    return times;
  };
  CHECK(count("warning: the file of metrics.textfile cannot be written, training goes on: /proc/none") == 1);
  CHECK(count("warning: metrics cannot be pushed to http://127.0.0.1:1, training goes on: Failed to connect") == 1);
}
