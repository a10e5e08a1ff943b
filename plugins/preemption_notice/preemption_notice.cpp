// Sources in a row, a thread that goes through them, and one flag.
#include "preemption_notice.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "command_source.hpp"
#include "local_url.hpp"
#include "url_source.hpp"

namespace holdfast::plugins {
namespace {

class FileSource : public NoticeSource {
 public:
  explicit FileSource(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] const char* name() const override { return "file"; }
  Look look(Ending& /*ending*/) override {
    struct stat info {};
    if (::stat(path_.c_str(), &info) == 0) return {"the file " + path_ + " is there", {}};
    return {};
  }

 private:
  std::string path_;
};

/// While it lives, threads are made that take no signals but those of their own faults.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

[[noreturn]] void refuse(const Context& context, const std::string& key, const std::string& what,
                         const std::string& hint) {
  throw Error(ExitCode::kBadRecipe, "preemption_notice." + key, context.table, what, hint);
}

}  // namespace

void PreemptionNotice::declare(OptionTable& options) {
  using std::chrono::seconds;
  options.path("file").doc("notice is given once something of this name is there");
  options.strings("command").min_items(1).doc(
      "notice is given once this program and its arguments succeed (exit code 0); found on PATH, run without a shell, "
      "its output thrown away");
  options.string("url").doc(
      "notice is given once this address answers with 2xx: plain http to localhost, a loopback or link-local address");
  options.string("expect", "").doc("for url: text that the answer must hold (\"TRUE\"); empty: any answer");
  options.strings("headers", {}).doc("for url: header lines of the request (\"Metadata-Flavor: Google\")");
  options.duration("every", seconds(5)).min(0.01).max(3600).doc("distance between two looks");
  options.duration("timeout", seconds(2)).min(0.01).max(600).doc("longest time that command or url may take");
}

PreemptionNotice::PreemptionNotice(const Options& options, const Context& context)
    : log_(context.log), every_(options.duration("every")) {
  const Duration timeout = options.duration("timeout");
  if (options.has("file")) sources_.push_back(std::make_unique<FileSource>(options.path("file")));
  if (options.has("command")) {
    const auto& argv = options.strings("command");
    if (argv.front().empty())
      refuse(context, "command", "the first word of `command` is empty", "name a program: [\"/usr/bin/spot-notice\"]");
    sources_.push_back(std::make_unique<CommandSource>(argv, timeout));
  }
  if (options.has("url")) {
    const std::string& url = options.string("url");
    if (const std::string fault = local_url_fault(url); !fault.empty())
      refuse(context, "url", "`url` cannot be asked: got '" + url + "'; " + fault,
             "use `command` for anything else, for example [\"curl\", \"-sf\", ...]");
    for (const std::string& header : options.strings("headers"))
      if (header.find_first_of("\r\n") != std::string::npos)
        refuse(context, "headers", "one of `headers` has a line break", "give each header an item of its own");
    sources_.push_back(std::make_unique<UrlSource>(
        UrlSource::Request{url, options.strings("headers"), options.string("expect"), timeout}));
  }
  if (sources_.empty())
    refuse(context, "source", "nothing is said that could give notice", "set `file`, `command` or `url`");
}

PreemptionNotice::~PreemptionNotice() { stop(); }

void PreemptionNotice::run_begin(const RunFacts& /*facts*/) {
  if (thread_.joinable()) return;
  const NoSignals for_the_thread;
  thread_ = std::thread([this] { watch(); });
}

void PreemptionNotice::run_end(ExitCode /*code*/) { stop(); }

void PreemptionNotice::stop() {
  ending_.come();
  if (thread_.joinable()) thread_.join();
}

void PreemptionNotice::window_end(const WindowReport& /*report*/, Requests& requests) {
  if (given_.load(std::memory_order_acquire)) requests.preempt(source_, "preemption notice: " + notice_);
}

void PreemptionNotice::watch() {
  std::vector<char> told(sources_.size(), 0);
  do {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      bool once = told[i] != 0;
      if (look_at(*sources_[i], once)) return;
      told[i] = once ? 1 : 0;
    }
  } while (!ending_.within(every_));
}

bool PreemptionNotice::look_at(NoticeSource& source, bool& told) {
  Look look;
  try {
    look = source.look(ending_);
  } catch (const std::exception& failure) {
    look.fault = std::string("the ") + source.name() + " cannot be asked: " + failure.what();
  }
  if (!look.fault.empty() && !std::exchange(told, true))
    log_.warn("preemption notice: " + look.fault + "; it is tried again (told once)");
  if (!look.notice) return false;
  source_ = source.name();
  notice_ = *std::move(look.notice);
  given_.store(true, std::memory_order_release);
  log_.warn("preemption notice: " + notice_ + "; the run saves and ends after this window");
  return true;
}

}  // namespace holdfast::plugins
