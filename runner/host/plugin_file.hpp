// An opened plugin file: a regular file, held by descriptor, so that what was checked is what is read.
#pragma once

#include <sys/stat.h>

#include <string>

#include "host/byte_source.hpp"

namespace holdfast::host {

class PluginFile : public ByteSource {
 public:
  /// Opens without ever blocking (a FIFO or device is refused after the open, which waits for nobody).
  /// Throws Error 80: [plugin.absent], [plugin.unreadable] with the system's reason, [plugin.not_regular].
  explicit PluginFile(std::string path);
  ~PluginFile() override;
  PluginFile(const PluginFile&) = delete;
  PluginFile& operator=(const PluginFile&) = delete;

  [[nodiscard]] std::uint64_t size() const override { return static_cast<std::uint64_t>(status_.st_size); }
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> into) const override;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// As of the open.
  [[nodiscard]] const struct stat& status() const { return status_; }
  /// Throws Error 80 [plugin.replaced] when the path now leads to another file than the one that was opened.
  void require_same() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  struct stat status_ {};
};

}  // namespace holdfast::host
