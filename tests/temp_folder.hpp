// A folder of its own for one test, removed at the end; in memory where the test syncs hundreds of times.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::test {

enum class Where { kDisk, kMemory };

class TempFolder {
 public:
  explicit TempFolder(Where where = Where::kDisk) {
    const bool memory = where == Where::kMemory && ::access("/dev/shm", W_OK | X_OK) == 0;
    const std::filesystem::path parent = memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "holdfast-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) throw std::runtime_error("cannot write " + path);
}

/// The error that `call` throws, as its text; a failing message when it throws none.
template <class E, class F>
std::string error_text(F&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

}  // namespace holdfast::test
