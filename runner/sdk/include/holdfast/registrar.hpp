// How a plugin offers its components. Torch-free.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "holdfast/component.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

struct ComponentInfo {
  Kind kind{};
  std::string name;     ///< as recipes write it; unique within its kind
  std::string summary;  ///< one sentence
  OptionTable options;
  std::function<std::unique_ptr<Component>(const Options&, const Context&)> make;
};

/// Collects what one library registers; the host merges it only when the whole registration succeeded.
class HOLDFAST_VISIBLE Registrar {
 public:
  virtual ~Registrar() = default;
  virtual void add_component(ComponentInfo info) = 0;

  /// C derives from Model, Dataset, Strategy or Hook, has `static void declare(OptionTable&)` and a constructor
  /// `C(const Options&, const Context&)`.
  template <class C>
  void add(std::string name, std::string summary) {
    ComponentInfo info;
    info.kind = C::kKind;
    info.name = std::move(name);
    info.summary = std::move(summary);
    C::declare(info.options);
    info.make = [](const Options& options, const Context& context) -> std::unique_ptr<Component> {
      return std::make_unique<C>(options, context);
    };
    add_component(std::move(info));
  }
};

}  // namespace holdfast
