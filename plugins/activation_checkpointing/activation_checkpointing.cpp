// The options.
#include "activation_checkpointing.hpp"

namespace holdfast::plugins {

void ActivationCheckpointing::declare(OptionTable& options) {
  options.strings("policy", {"all"})
      .or_one()
      .min_items(1)
      .doc(
          "segments of the model to run again in the backward pass: \"all\", \"every:N\" (the first of every N), "
          "\"largest:N\" (by the bytes they save in the first forward), or names and patterns (\"block.*\"); the last "
          "segment before the loss is kept unless its name is written out");
}

}  // namespace holdfast::plugins
