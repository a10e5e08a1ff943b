// What happened in a run, gathered from its events in bounded memory. Knows the events' names and fields, no page.
// Private to this folder.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/record.hpp"
#include "report/series.hpp"

namespace holdfast::report {

/// The newest of many, and how many there were.
template <class T>
class Newest {
 public:
  explicit Newest(std::size_t most) : most_(most) {}
  void add(T item) {
    ++total_;
    items_.push_back(std::move(item));
    if (items_.size() > most_) items_.pop_front();
  }
  [[nodiscard]] const std::deque<T>& items() const { return items_; }
  std::deque<T>& items() { return items_; }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  std::size_t most_;
  std::deque<T> items_;
  std::int64_t total_ = 0;
};

struct Attempt {
  int number = 1;
  std::string from;           ///< checkpoint; empty at a fresh start
  std::string state, reason;  ///< of its event "end"; empty: none was written
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> begun, last;  ///< Unix seconds of its first and last event
  std::int64_t first_update = 0, last_update = 0;
};

struct Checkpoint {
  std::int64_t update = 0;
  std::string time, name, reason;
  bool ok = false;
  double seconds = 0;
};

struct SkippedSample {
  std::string source, reason;
  std::int64_t index = 0, epoch = 0;
};

/// Anything that is told in one line: out of memory, changes of the plan, signals, and events of later versions.
struct Happening {
  std::string time, event, text;
  std::int64_t update = 0;
  int attempt = 1;
};

struct Stages {
  double data = 0, forward = 0, backward = 0, optimizer = 0, checkpoint = 0;  ///< seconds, over all attempts
};

struct History {
  static constexpr std::size_t kMostScores = 8;

  void take(const Record& event);

  Series loss, grad_norm, learning_rate, rate, loss_scale;  ///< over updates
  Series update_time, slowest, allocated, peak, resident;
  std::map<std::string, Series> scores;
  Newest<Attempt> attempts{60};
  Newest<Checkpoint> checkpoints{40};
  Newest<SkippedSample> samples{40};
  Newest<Happening> happenings{60};
  Newest<double> dropped{100};  ///< updates at which a window was dropped
  Stages stages;
  std::int64_t failed_checkpoints = 0, lost = 0, events = 0;
  double highest_update = 0;
  Record facts;  ///< of the newest start or resume
  std::optional<double> budget;

 private:
  void begin(const Record& event, bool resumed);
  void update(const Record& event);
  void score(const Record& event);
  void save(const Record& event);
  void skip(const Record& event);
  void happen(const Record& event, const std::string& name);
  Attempt& attempt_of(const Record& event);
};

}  // namespace holdfast::report
