// Registers the hook "memory_guard".
#include "holdfast/plugin.hpp"

#include "memory_guard.hpp"

HOLDFAST_PLUGIN("memory_guard", "1.0", "acts before memory runs out") {
  registrar.add<holdfast::plugins::MemoryGuard>(
      "memory_guard", "saves, and acts as told, when memory is nearly full at a window's edge");
}
