// One loaded plugin library and what it registered. Loading checks everything before any code of the file runs, and
// nothing is ever unloaded: components, their threads, thread-locals and exceptions point into the code.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/registrar.hpp"
#include "host/search_path.hpp"
#include "host/stamp.hpp"

namespace holdfast::host {

struct Library {
  std::string path;
  Origin origin = Origin::kBuiltIn;
  Stamp stamp;
  std::string summary;
  std::vector<ComponentInfo> components;  ///< at least one; names allowed and unique within their kind

  [[nodiscard]] const ComponentInfo* find(Kind kind, std::string_view name) const {
    for (const ComponentInfo& component : components)
      if (component.kind == kind && component.name == name) return &component;
    return nullptr;
  }
  /// "model 'spiral', dataset 'spiral'"
  [[nodiscard]] std::string contents() const;
};

/// Opens `candidate.path`, checks note and, for a recipe's folder, ownership; loads it; runs its registration.
/// On any failure nothing is kept (but the code stays mapped once it was loaded). Throws Error 80, or 77 for ownership.
/// One thread at a time.
std::unique_ptr<const Library> load_library(const Candidate& candidate, const HostStamp& host);

}  // namespace holdfast::host
