// Registers the data set "idx".
#include "holdfast/plugin.hpp"

#include "idx.hpp"

HOLDFAST_PLUGIN("idx", "1.0", "images and labels in IDX files, as MNIST has them") {
  registrar.add<holdfast::plugins::Idx>("idx", "images and labels from IDX files, plain or gzip");
}
