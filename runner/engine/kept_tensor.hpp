// A saved tensor that stays where it is, with the check that autograd leaves to whoever keeps it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "device/saved_tensors.hpp"
#include "holdfast/error.hpp"

namespace holdfast::engine {

/// An alias and the version it was saved at.
class KeptTensor {
 public:
  KeptTensor() = default;
  explicit KeptTensor(const at::Tensor& tensor)
      : alias_(tensor.defined() ? tensor.detach() : at::Tensor()), version_(now()) {}
  [[nodiscard]] bool unchanged() const { return now() == version_; }
  /// Error 70 at `where` when it was changed in place since.
  [[nodiscard]] const at::Tensor& get(const std::string& where) const {
    if (!unchanged())
      throw Error(ExitCode::kBug, "model.changed_in_place", where,
                  "a tensor that the backward pass needs was changed in place: it is at version " +
                      std::to_string(now()) + " and was saved at version " + std::to_string(version_),
                  "let the model write to a new tensor");
    return alias_;
  }

 private:
  [[nodiscard]] std::int64_t now() const { return alias_.defined() ? alias_._version() : 0; }

  at::Tensor alias_;
  std::int64_t version_ = 0;
};

/// A place in the graph that keeps it so.
class KeptPlace : public device::SavedTensor {
 public:
  explicit KeptPlace(std::string where) : where_(std::move(where)) {}
  void keep(const at::Tensor& tensor) override { kept_ = KeptTensor(tensor); }
  at::Tensor give() override { return kept_.get(where_); }

 private:
  std::string where_;
  KeptTensor kept_;
};

}  // namespace holdfast::engine
