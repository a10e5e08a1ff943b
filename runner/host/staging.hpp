// The registrar a plugin sees: keeps what one library registers aside until the whole registration succeeded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "holdfast/registrar.hpp"

namespace holdfast::host {

class Staging : public Registrar {
 public:
  explicit Staging(std::string file) : file_(std::move(file)) {}

  /// Throws Error 80 for a bad or repeated name or a component without constructor; the first fault is kept as well,
  /// so that a plugin which swallows the exception is refused all the same.
  void add_component(ComponentInfo info) override;

  /// Throws the first fault, if there was one.
  void rethrow_fault() const;
  /// What was registered. Throws the first fault, or Error 80 [plugin.registers_nothing].
  std::vector<ComponentInfo> take();

 private:
  void check(const ComponentInfo& info) const;

  std::string file_;
  std::vector<ComponentInfo> components_;
  std::optional<Error> fault_;
};

}  // namespace holdfast::host
