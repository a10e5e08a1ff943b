// The options.
#include "activation_offload.hpp"

namespace holdfast::plugins {

void ActivationOffload::declare(OptionTable& options) {
  options.strings("policy", {"all"})
      .or_one()
      .min_items(1)
      .doc(
          "whose saved tensors go to the host: \"all\" (the whole forward, loss included), or segments of the model: "
          "\"every:N\" (the first of every N), \"largest:N\" (by the bytes they save in the first forward), names and "
          "patterns (\"block.*\"); of recomputed segments the inputs go");
  options.size("min_bytes", Bytes{1 << 16}).doc("smaller tensors stay on the device");
}

}  // namespace holdfast::plugins
