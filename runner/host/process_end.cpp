// Ending without static destructors.
#include "host/process_end.hpp"

#include <unistd.h>

#include <cstdio>

namespace holdfast::host {

void end_process(int code) noexcept {
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace holdfast::host
