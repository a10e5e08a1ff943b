// RunLog on spdlog, which stays in this file: our own sink writes to a descriptor and remembers that it failed.
#include "base/log.hpp"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "base/folder.hpp"
#include "base/log_limit.hpp"
#include "base/text.hpp"

namespace holdfast::base {
namespace {

namespace level = spdlog::level;

enum class Style { kHuman, kColor, kJson };

const char* word(level::level_enum at) {
  switch (at) {
    case level::debug:
      return "debug";
    case level::warn:
      return "warning";
    case level::err:
      return "error";
    default:
      return "info";
  }
}

std::string line_of(Style style, WallTime time, level::level_enum at, std::string_view text) {
  const std::string stamp = rfc3339_utc(time);
  if (style == Style::kJson)
    return "{\"time\":\"" + stamp + "\",\"level\":\"" + word(at) + "\",\"text\":" + json_string(text) + "}\n";
  std::string safe = terminal_safe(text);
  for (std::size_t end = safe.find('\n'); end != std::string::npos; end = safe.find('\n', end + 1))
    safe.insert(end + 1, "    ");  // no message can pretend to be a line of its own
  std::string shown = at == level::info ? "" : std::string(word(at)) + ": ";
  if (style == Style::kColor && at >= level::warn)
    shown = (at == level::warn ? "\x1b[33m" : "\x1b[31m") + std::string(word(at)) + ":\x1b[0m ";
  return stamp.substr(0, 19) + "Z " + shown + safe + "\n";
}

/// Negative with errno on failure. O_NONBLOCK: a FIFO in its place must not hang the start.
File open_log(const std::string& path) {
  return File(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
}

class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  DescriptorSink(int descriptor, Style style, Clock& clock) : descriptor_(descriptor), style_(style), clock_(clock) {}
  /// A file of its own; when it would grow beyond `largest` bytes it becomes PATH.1 and a new one begins.
  DescriptorSink(File file, std::string path, std::int64_t largest, Style style, Clock& clock)
      : file_(std::move(file)),
        descriptor_(file_.fd()),
        style_(style),
        clock_(clock),
        path_(std::move(path)),
        largest_(largest) {
    struct stat info {};
    if (fstat(descriptor_, &info) == 0) size_ = info.st_size;
  }

  void before_line(std::function<void()> clear) {
    const std::lock_guard lock(mutex_);
    clear_ = std::move(clear);
  }
  /// The errno of the first failed write, once; then 0.
  int take_failure() {
    const std::lock_guard lock(mutex_);
    return std::exchange(untold_, 0);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (clear_) clear_();
    const std::string line =
        line_of(style_, clock_.wall(), message.level, {message.payload.data(), message.payload.size()});
    const auto grown = static_cast<std::int64_t>(line.size());
    if (largest_ > 0 && size_ > 0 && size_ + grown > largest_) begin_anew();
    size_ += grown;
    std::string_view rest = line;
    while (!rest.empty()) {
      const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && failed_ == 0) failed_ = untold_ = errno;
      if (written <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void flush_() override {}
  /// What cannot be moved or made anew goes on in the old file, and is not tried again before it has doubled.
  void begin_anew() {
    size_ = 0;
    if (::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) return;
    File fresh = open_log(path_);
    if (fresh.fd() < 0) return;
    file_ = std::move(fresh);
    descriptor_ = file_.fd();
  }

  File file_;  // where the sink owns its descriptor
  int descriptor_;
  Style style_;
  Clock& clock_;
  std::function<void()> clear_;
  int failed_ = 0, untold_ = 0;
  std::string path_;
  std::int64_t largest_ = 0, size_ = 0;
};

level::level_enum spdlog_level(LogLevel at) {
  switch (at) {
    case LogLevel::kDebug:
      return level::debug;
    case LogLevel::kWarn:
      return level::warn;
    case LogLevel::kError:
      return level::err;
    default:
      return level::info;
  }
}

}  // namespace

struct RunLog::Impl {
  Impl(const LogOptions& options, Clock& source)
      : clock(source),
        quiet(options.quiet),
        terminal(std::make_shared<DescriptorSink>(options.descriptor,
                                                  options.json    ? Style::kJson
                                                  : options.color ? Style::kColor
                                                                  : Style::kHuman,
                                                  source)) {
    set_level(options.level);
  }

  void set_level(LogLevel wanted) {
    const auto at = spdlog_level(wanted);
    lowest.store(at);
    terminal->set_level(quiet && at < level::warn ? level::warn : at);
  }

  void write(level::level_enum at, std::string_view text) noexcept {
    counts[static_cast<std::size_t>(at - level::debug)].fetch_add(1, std::memory_order_relaxed);
    if (at < lowest.load()) return;
    try {
      const std::lock_guard lock(mutex);
      if (admitted(at, text)) to_all(at, text);
      tell_failures();
    } catch (...) {
      // Out of memory while formatting a line: training matters more than its log.
    }
  }

  bool admitted(level::level_enum at, std::string_view text) {
    LogLimit* limit = at == level::warn ? &warnings : at == level::info ? &infos : nullptr;
    if (limit == nullptr) return true;
    const auto verdict = limit->admit(text, clock.monotonic());
    for (const auto& kept : verdict.over) to_all(at, left_out_text(kept));
    return verdict.pass;
  }

  void tell_rest() noexcept {
    try {
      const std::lock_guard lock(mutex);
      for (const auto& kept : infos.take_rest()) to_all(level::info, left_out_text(kept));
      for (const auto& kept : warnings.take_rest()) to_all(level::warn, left_out_text(kept));
    } catch (...) {
      // As in write().
    }
  }

  void to_all(level::level_enum at, std::string_view text) {
    pass(*terminal, at, text);
    if (file) pass(*file, at, text);
  }

  static void pass(DescriptorSink& sink, level::level_enum at, std::string_view text) {
    if (!sink.should_log(at)) return;
    const spdlog::details::log_msg message(spdlog::source_loc{}, spdlog::string_view_t{}, at,
                                           spdlog::string_view_t(text.data(), text.size()));
    sink.log(message);
  }

  void tell_failures() {
    if (file) {
      if (const int reason = file->take_failure())
        pass(*terminal, level::warn,
             "cannot write " + path + ": " + std::strerror(reason) + "; the run goes on without it");
    }
    const int reason = terminal->take_failure();
    if (reason != 0 && file)
      pass(*file, level::warn,
           std::string("cannot write to stderr: ") + std::strerror(reason) + "; the run goes on without it");
  }

  Clock& clock;
  bool quiet;
  std::atomic<int> lowest{level::info};
  std::mutex mutex;  // keeps the order of lines the same on both sinks
  LogLimit infos{100}, warnings{10};
  std::array<std::atomic<std::int64_t>, 4> counts{};
  std::shared_ptr<DescriptorSink> terminal, file;
  std::string path;
};

RunLog::RunLog(const LogOptions& options, Clock& clock) : impl_(std::make_unique<Impl>(options, clock)) {}
RunLog::~RunLog() { impl_->tell_rest(); }

bool RunLog::open_file(const std::string& path, std::int64_t largest) {
  File opened = open_log(path);
  if (opened.fd() < 0) {
    const std::string reason = std::strerror(errno);
    warn("cannot write " + path + ": " + reason + "; the run goes on without it");
    return false;
  }
  const std::lock_guard lock(impl_->mutex);
  impl_->file = std::make_shared<DescriptorSink>(std::move(opened), path, largest, Style::kHuman, impl_->clock);
  impl_->file->set_level(level::debug);
  impl_->path = path;
  return true;
}

void RunLog::set_level(LogLevel level) { impl_->set_level(level); }

std::array<std::int64_t, 4> RunLog::counts() const {
  std::array<std::int64_t, 4> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = impl_->counts[i].load(std::memory_order_relaxed);
  return out;
}
void RunLog::before_line(std::function<void()> clear) { impl_->terminal->before_line(std::move(clear)); }

void RunLog::debug(std::string_view text) { impl_->write(level::debug, text); }
void RunLog::info(std::string_view text) { impl_->write(level::info, text); }
void RunLog::warn(std::string_view text) { impl_->write(level::warn, text); }
void RunLog::error(std::string_view text) { impl_->write(level::err, text); }

}  // namespace holdfast::base
