// Names of components and plugin files.
#include "host/component_name.hpp"

#include <algorithm>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast::host {

namespace {
constexpr std::string_view kPrefix = "libholdfast_";
constexpr std::string_view kSuffix = ".so";
constexpr std::size_t kLongestName = 63;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}
}  // namespace

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kModel:
      return "model";
    case Kind::kDataset:
      return "dataset";
    case Kind::kStrategy:
      return "strategy";
    case Kind::kHook:
      return "hook";
  }
  return "component";
}

bool is_component_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void require_component_name(std::string_view name) {
  if (is_component_name(name)) return;
  throw Error(ExitCode::kPlugin, "plugin.bad_name", "",
              "'" + printable(name, 80) + "' is no plugin name: a name has 1 to 63 characters of a-z, 0-9 and _");
}

std::string plugin_file_name(std::string_view name) {
  return std::string(kPrefix) + std::string(name) + std::string(kSuffix);
}

std::string component_of_file(std::string_view file_name) {
  if (file_name.size() <= kPrefix.size() + kSuffix.size() || !file_name.starts_with(kPrefix) ||
      !file_name.ends_with(kSuffix))
    return {};
  file_name.remove_prefix(kPrefix.size());
  file_name.remove_suffix(kSuffix.size());
  return std::string(file_name);
}

std::string nearest_name(std::string_view wanted, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, candidate);
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

std::string printable(std::string_view text, std::size_t limit) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    if (out.size() >= limit) return out + "...";
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)
      out += c;
    else
      out.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
  }
  return out;
}

}  // namespace holdfast::host
