// Registers the model "gpt".
#include "holdfast/plugin.hpp"

#include "gpt.hpp"

HOLDFAST_PLUGIN("gpt", "1.0", "decoder-only transformer for language models") {
  registrar.add<holdfast::plugins::Gpt>("gpt", "decoder-only transformer as GPT-2, with next-token cross-entropy");
}
