// Who this process is and what it can draw by chance. Torch-free; nothing here is a secret or reproducible.
#pragma once

#include <string>

namespace holdfast::base {

/// The machine's name, or "unknown".
std::string host_name();
/// Random lower-case hexadecimal digits from the kernel, to tell apart what carries the same time. Throws
/// std::runtime_error when the kernel gives none.
std::string random_hex(int digits);

}  // namespace holdfast::base
