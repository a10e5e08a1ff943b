// Registers the data set "text".
#include "holdfast/plugin.hpp"

#include "text/text.hpp"

HOLDFAST_PLUGIN("text", "1.0", "text as bytes, or token bins, in windows for language models") {
  registrar.add<holdfast::plugins::Text>("text", "windows of text files or token bins, with the tokens that follow");
}
