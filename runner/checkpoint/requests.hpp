// Requests for a checkpoint, as files in a generation's folder requests/: who asks puts one there, the process that
// works on the generation takes it at a window's edge and puts an answer in its place. Torch-free.
//
//   checkpoint-0123456789abcdef        a request; its content means nothing
//   checkpoint-0123456789abcdef.done   {"ok": true, "update": 500, "path": "update-000000500", "text": ""}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::checkpoint {

struct Answer {
  bool ok = false;
  std::int64_t update = 0;
  std::string path;  ///< the checkpoint's bare name
  std::string text;  ///< why not; empty when ok
};

/// Puts a request into the generation at this path; returns its name. Error 66/73/74/77.
std::string place_request(const std::string& generation);
/// The answer to a request, once; it is removed. Empty while there is none. Error 66 for one that cannot be read.
std::optional<Answer> take_answer(const std::string& generation, const std::string& request);
/// Takes a request back; nothing when it is not there any more.
void withdraw_request(const std::string& generation, const std::string& request) noexcept;

/// The other side. One thread. Nothing here fails: a folder that cannot be read holds no requests, and an answer that
/// cannot be written is not given.
class RequestBox {
 public:
  /// Removes what lies in the generation's requests/ from before.
  explicit RequestBox(std::string generation);
  /// True while requests are open. One look costs a stat(2), and a listing when something changed.
  bool open();
  /// A checkpoint was begun: it will answer those that are open now.
  void begun();
  /// Answers them.
  void settled(const Answer& answer);

 private:
  void list();

  std::string folder_;
  std::int64_t seen_change_ns_ = -1, looked_ns_ = 0;
  std::vector<std::string> open_, begun_;
};

}  // namespace holdfast::checkpoint
