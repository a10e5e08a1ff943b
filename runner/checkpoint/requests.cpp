// Requests appear by rename, so that none is seen half made; answers too.
#include "checkpoint/requests.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/atomic_file.hpp"
#include "base/clock.hpp"
#include "base/folder.hpp"
#include "base/process.hpp"
#include "checkpoint/json.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {
namespace {

constexpr const char* kRequests = "requests";
constexpr std::string_view kPrefix = "checkpoint-", kDone = ".done";
constexpr std::size_t kDigits = 16, kLargestAnswer = 64 << 10;
constexpr std::int64_t kCoarsest = 2'000'000'000;  ///< ns; some file systems keep times in steps of two seconds

bool is_request(std::string_view name) {
  return name.size() == kPrefix.size() + kDigits && name.starts_with(kPrefix) &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

bool is_ours(std::string_view name) {
  if (name.starts_with('.')) return name.find(".tmp-") != std::string_view::npos;
  return is_request(name) || (name.ends_with(kDone) && is_request(name.substr(0, name.size() - kDone.size())));
}

template <class Step>
void quietly(Step&& step) noexcept {
  try {
    step();
  } catch (const std::exception&) {
    return;  // see the header: nothing here fails
  }
}

}  // namespace

std::string place_request(const std::string& generation) {
  const std::string name = std::string(kPrefix) + base::random_hex(kDigits);
  const base::Folder folder = base::Folder::open(generation).make_below(kRequests);
  base::write_file_atomic(folder, name, base::rfc3339_utc(base::Clock::real().wall()) + "\n");
  return name;
}

std::optional<Answer> take_answer(const std::string& generation, const std::string& request) {
  const base::Folder folder = base::Folder::open(generation).open_below(kRequests);
  const std::string name = request + std::string(kDone);
  if (!folder.kind_of(name)) return std::nullopt;
  const auto object = foreign_json(folder.read(name, kLargestAnswer), folder.path_of(name));
  folder.remove(name);
  Answer answer;
  try {
    answer = {object.at("ok").get<bool>(), object.at("update").get<std::int64_t>(),
              object.at("path").get<std::string>(), object.at("text").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    throw Error(ExitCode::kMissingInput, "request.answer", folder.path_of(name),
                "this is no answer of the process that works there", "look into the run with `holdfast status`");
  }
  return answer;
}

void withdraw_request(const std::string& generation, const std::string& request) noexcept {
  quietly([&] { base::Folder::open(generation).open_below(kRequests).remove(request); });
}

RequestBox::RequestBox(std::string generation) : folder_(std::move(generation) + "/" + kRequests) {
  quietly([&] {
    const base::Folder folder = base::Folder::open(folder_);
    for (const base::Entry& entry : folder.entries())
      if (is_ours(entry.name) && entry.kind != base::EntryKind::kFolder) folder.remove(entry.name);
  });
}

bool RequestBox::open() {
  struct stat info {};
  if (::stat(folder_.c_str(), &info) != 0) return !open_.empty();
  const std::int64_t changed = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  const std::int64_t now = base::Clock::real().wall().time_since_epoch().count();
  // A change within the grain of the file system's clock need not show.
  if (changed != seen_change_ns_ || looked_ns_ - changed < kCoarsest) list();
  seen_change_ns_ = changed;
  looked_ns_ = now;
  return !open_.empty();
}

void RequestBox::list() {
  quietly([&] {
    for (const base::Entry& entry : base::Folder::open(folder_).entries())
      if (is_request(entry.name) && entry.kind == base::EntryKind::kFile &&
          std::find(begun_.begin(), begun_.end(), entry.name) == begun_.end() &&
          std::find(open_.begin(), open_.end(), entry.name) == open_.end())
        open_.push_back(entry.name);
  });
}

void RequestBox::begun() {
  begun_.insert(begun_.end(), open_.begin(), open_.end());
  open_.clear();
}

void RequestBox::settled(const Answer& answer) {
  for (const std::string& name : begun_)
    quietly([&] {
      const base::Folder folder = base::Folder::open(folder_);
      nlohmann::ordered_json object = {
          {"ok", answer.ok}, {"update", answer.update}, {"path", answer.path}, {"text", answer.text}};
      // Withdrawn meanwhile: nobody waits for an answer.
      if (folder.remove(name)) base::write_file_atomic(folder, name + std::string(kDone), object.dump() + "\n");
    });
  begun_.clear();
}

}  // namespace holdfast::checkpoint
