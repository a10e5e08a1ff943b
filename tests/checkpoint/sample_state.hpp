// States to save in tests: small, of many dtypes and shapes, different for every update.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "base/state_view.hpp"
#include "checkpoint/store.hpp"

namespace holdfast::test {

/// Owns the bytes of a StateView.
class SampleState {
 public:
  explicit SampleState(std::int64_t update, std::size_t floats = 64) : random_(static_cast<unsigned>(update)) {
    add(view_.model, "fc1.weight", "F32", {static_cast<std::int64_t>(floats / 4), 4}, floats * 4);
    add(view_.model, "fc1.bias", "F64", {3}, 24);
    add(view_.model, "größe 日本 \"quoted\"\n", "I64", {}, 8);
    add(view_.model, "empty", "F16", {0, 7}, 0);
    add(view_.model, "mask", "BOOL", {5}, 5);
    add(view_.optimizer, "fc1.weight.exp_avg", "BF16", {8}, 16);
    add(view_.optimizer, "fc1.weight.step", "F32", {}, 4);
    count(update);
    view_.identity_json = R"({"seed":7})";
    view_.extra_json = R"({"threads":2})";
  }
  base::StateView& view() { return view_; }
  /// As if made at this update, which is what the counters of request_at(update) say.
  SampleState& count(std::int64_t update) {
    view_.progress_json =
        R"({"update":)" + std::to_string(update) + R"(,"scaler":65536.0,"epoch":)" + std::to_string(update / 10) + "}";
    return *this;
  }

 private:
  void add(std::vector<base::TensorView>& list, std::string name, std::string dtype, std::vector<std::int64_t> shape,
           std::size_t size) {
    std::vector<std::byte>& bytes = bytes_.emplace_back(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_() & 1u);  // valid for BOOL too
    list.push_back({std::move(name), std::move(dtype), std::move(shape), bytes});
  }
  std::mt19937 random_;
  std::deque<std::vector<std::byte>> bytes_;
  base::StateView view_;
};

inline constexpr const char* kRunId = "20261130T101500Z-3f2a";

inline checkpoint::SaveRequest request_at(std::int64_t update, bool best = false) {
  checkpoint::SaveRequest request;
  request.counters = {update, update / 10, update * 64};
  request.reason = "periodic";
  request.run_id = kRunId;
  request.is_best = best;
  return request;
}

/// Equal in everything, tensors compared by name.
inline bool same_state(const base::StateView& a, const base::StateView& b) {
  const auto same = [](const std::vector<base::TensorView>& left, const std::vector<base::TensorView>& right) {
    if (left.size() != right.size()) return false;
    for (const auto& l : left) {
      bool found = false;
      for (const auto& r : right)
        found = found ||
                (l.name == r.name && l.dtype == r.dtype && l.shape == r.shape && l.bytes.size() == r.bytes.size() &&
                 (l.bytes.empty() || std::memcmp(l.bytes.data(), r.bytes.data(), l.bytes.size()) == 0));
      if (!found) return false;
    }
    return true;
  };
  return same(a.model, b.model) && same(a.optimizer, b.optimizer);
}

}  // namespace holdfast::test
