// Registers the hook "leak_detector".
#include "holdfast/plugin.hpp"

#include "leak_detector.hpp"

HOLDFAST_PLUGIN("leak_detector", "1.0", "tells of memory that only grows") {
  registrar.add<holdfast::plugins::LeakDetector>("leak_detector",
                                                 "warns once when memory in use grows window after window");
}
