// Folders of plugins for tests: made of copies of the fixtures, removed at the end.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/component.hpp"
#include "holdfast/error.hpp"
#include "host/host.hpp"
#include "temp_folder.hpp"

namespace holdfast::testing {

inline std::string fixture(const std::string& name) {
  return std::string(FIXTURE_FOLDER) + "/libholdfast_" + name + ".so";
}

inline std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// A fresh folder, readable by everybody so that tests may drop privileges.
class PluginFolder {
 public:
  PluginFolder() { ::chmod(path_.c_str(), 0755); }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/libholdfast_" + name + ".so"; }
  /// A copy (another file to the loader) of a fixture, under its own or another name.
  std::string add(const std::string& name, const std::string& as = {}) const {
    const std::string to = file(as.empty() ? name : as);
    std::filesystem::copy_file(fixture(name), to);
    return to;
  }
  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }
  std::string write(const std::string& name, const std::vector<std::byte>& content) const {
    return write(name, std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
  }

 private:
  test::TempFolder folder_;
  std::string path_ = std::filesystem::canonical(folder_.path()).string();
};

/// The fixture with the stamp of its note changed by `edit(PluginStamp&)`.
template <class Edit>
std::vector<std::byte> restamped(const std::string& name, Edit edit) {
  std::vector<std::byte> bytes = bytes_of(fixture(name));
  PluginNote head{};
  head.owner_size = sizeof HOLDFAST_NOTE_OWNER;
  head.payload_size = sizeof(PluginStamp);
  head.type = HOLDFAST_NOTE_TYPE;
  std::memcpy(head.owner, HOLDFAST_NOTE_OWNER, sizeof HOLDFAST_NOTE_OWNER);
  const auto* pattern = reinterpret_cast<const std::byte*>(&head);
  const auto at = std::search(bytes.begin(), bytes.end(), pattern, pattern + offsetof(PluginNote, stamp));
  if (at == bytes.end()) throw std::logic_error("the fixture has no note");
  std::byte* stamp = &*at + offsetof(PluginNote, stamp);
  PluginStamp edited{};
  std::memcpy(&edited, stamp, sizeof edited);
  edit(edited);
  std::memcpy(stamp, &edited, sizeof edited);
  return bytes;
}

/// What `call` throws as an Error: "80 text"; "nothing" when it does not throw.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
  return "nothing";
}

struct SilentLog : Log {
  void info(std::string_view) override {}
  void warn(std::string_view) override {}
};
struct SilentMetrics : Metrics {
  void gauge(std::string_view, double) override {}
};

/// A host over folders, with the stamp that the fixtures carry, and what it noted.
struct TestHost {
  explicit TestHost(std::vector<host::SearchFolder> folders, std::string torch = "2.13.0")
      : host({{std::move(torch)}, std::move(folders), [this](std::string_view text) { notes.emplace_back(text); }}) {}
  explicit TestHost(const PluginFolder& folder) : TestHost({{folder.path(), host::Origin::kBuiltIn}}) {}

  [[nodiscard]] std::string find_error(const std::string& name, Kind kind = Kind::kHook) {
    return error_of([&] { (void)host.find(kind, name); });
  }
  std::unique_ptr<Component> create(const std::string& name, const Options& options = {}) {
    return host.create(Kind::kHook, name, options, Context{log, metrics, "hook." + name, nullptr});
  }

  std::vector<std::string> notes;
  SilentLog log;
  SilentMetrics metrics;
  host::Host host;
};

}  // namespace holdfast::testing
