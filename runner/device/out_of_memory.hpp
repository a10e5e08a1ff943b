// Tells "the device is full" from every other failure.
#pragma once

#include <exception>
#include <string>

namespace holdfast::device {

/// True for the allocator's own exception. `text` gets its first line, without a stack trace.
bool is_device_out_of_memory(const std::exception& failure, std::string& text);

/// What an exception of LibTorch or of the standard library says, without the stack trace LibTorch appends.
std::string sentence_of(const std::exception& failure);

}  // namespace holdfast::device
