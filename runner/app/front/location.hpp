// Where this installation keeps its parts, found from the running executable: a build tree and an installed prefix have
// the same shape.
#pragma once

#include <string>

namespace holdfast::app {

/// Absolute path of the running executable. Throws Error 70 without /proc.
std::string own_path();

/// The worker beside `front`: <folder>/libexec/holdfast/holdfast-worker or
/// <folder>/../libexec/holdfast/holdfast-worker. Throws Error 70 naming both when neither is there.
std::string worker_of(const std::string& front);

}  // namespace holdfast::app
