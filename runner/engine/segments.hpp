// Segments of a model when the plan trades none of them for memory.
#pragma once

#include "holdfast/model.hpp"

namespace holdfast::engine {

class PlainSegments : public Segments {
 public:
  std::vector<at::Tensor> run_list(std::string_view /*name*/, const Function& fn,
                                   std::vector<at::Tensor> inputs) override {
    return fn(inputs);
  }
  [[nodiscard]] bool active() const override { return false; }
};

}  // namespace holdfast::engine
