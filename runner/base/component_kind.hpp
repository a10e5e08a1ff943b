// What recipes and sentences call each kind of component. Pure, any thread.
#pragma once

#include <string_view>

#include "holdfast/component.hpp"

namespace holdfast::base {

/// "model", "dataset", "strategy", "hook"; "component" for a number that is no Kind: plugins give them.
constexpr std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kModel:
      return "model";
    case Kind::kDataset:
      return "dataset";
    case Kind::kStrategy:
      return "strategy";
    case Kind::kHook:
      return "hook";
  }
  return "component";
}

}  // namespace holdfast::base
