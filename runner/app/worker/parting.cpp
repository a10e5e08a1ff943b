// write(2) and a buffer on the stack.
#include "app/worker/parting.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "holdfast/exit_code.hpp"
#include "telemetry/last_words.hpp"

namespace holdfast::app {
namespace {

void put(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

}  // namespace

void speak(const Parting& parting) noexcept {
  std::array<char, 400> bytes;
  std::size_t size = 0;
  for (const std::string_view part : parting.parts) {
    const std::size_t count = std::min(part.size(), bytes.size() - size);
    std::memcpy(bytes.data() + size, part.data(), count);
    size += count;
  }
  const std::string_view what(bytes.data(), size);
  put("\nholdfast: error[");
  put(parting.reason);
  put("]: ");
  put(what);
  put("\n  hint: ");
  put(parting.hint);
  put("\n");
  telemetry::speak_last_words(static_cast<int>(ExitCode::kBug), what);
}

}  // namespace holdfast::app
