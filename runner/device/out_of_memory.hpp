// Tells "the device is full" from every other failure.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace holdfast::device {

/// True for the allocator's own exception. `text` gets its first line, without a stack trace.
bool is_device_out_of_memory(const std::exception& failure, std::string& text);

/// What to tell of memory that the host lacks, and what to do about it: the host budget's own words where that refused.
struct HostShortage {
  std::string text, hint;
};
HostShortage host_shortage(const std::bad_alloc& failure);

/// What an exception of LibTorch or of the standard library says, without the stack trace LibTorch appends.
std::string sentence_of(const std::exception& failure);

}  // namespace holdfast::device
