// One switch; the words are those of torch/csrc/autograd/engine.cpp (validate_outputs, call_function).
#include "device/anomaly.hpp"

#include <torch/csrc/autograd/anomaly_mode.h>

namespace holdfast::device {

void set_anomaly_mode(bool on) { torch::autograd::AnomalyMode::set_enabled(on, /*check_nan=*/true); }

bool is_anomaly(std::string_view sentence) {
  return torch::autograd::AnomalyMode::is_enabled() && sentence.find("returned nan values") != std::string_view::npos;
}

}  // namespace holdfast::device
