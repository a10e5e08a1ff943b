// Hashing with xxHash and the canonical text of a state.
#include "checkpoint/digest.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "base/text.hpp"
#include "checkpoint/json.hpp"
#include "checkpoint/store.hpp"

namespace holdfast::checkpoint {

struct Hasher::State {
  XXH3_state_t value;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->value); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::add(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_128bits_update(&state_->value, bytes.data(), bytes.size());
}

std::string Hasher::hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->value));
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string hash_of(std::string_view text) { return hash_of(std::as_bytes(std::span(text))); }

std::string hash_of(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.add(bytes);
  return hasher.hex();
}

namespace {

void add_tensors(Hasher& hasher, std::string_view file, const std::vector<base::TensorView>& tensors) {
  std::vector<const base::TensorView*> sorted;
  for (const auto& tensor : tensors) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const auto* tensor : sorted) {
    std::string line(file);
    line += " " + base::json_string(tensor->name) + " " + tensor->dtype + " [";
    for (std::size_t i = 0; i < tensor->shape.size(); ++i)
      line += (i == 0 ? "" : ",") + std::to_string(tensor->shape[i]);
    hasher.add(line + "] " + hash_of(tensor->read()) + "\n");
  }
}

}  // namespace

std::string state_digest(const base::StateView& state, const Counters& counters) {
  Hasher hasher;
  hasher.add("holdfast-state-1\n");
  add_tensors(hasher, "model", state.model);
  add_tensors(hasher, "optimizer", state.optimizer);
  hasher.add("counters " + std::to_string(counters.update) + " " + std::to_string(counters.epoch) + " " +
             std::to_string(counters.samples_seen) + "\n");
  hasher.add("progress " + own_json(state.progress_json, "progress").dump() + "\n");
  return hasher.hex();
}

std::string tensors_digest(const std::vector<base::TensorView>& tensors) {
  Hasher hasher;
  hasher.add("holdfast-state-1\n");
  add_tensors(hasher, "model", tensors);
  return hasher.hex();
}

}  // namespace holdfast::checkpoint
