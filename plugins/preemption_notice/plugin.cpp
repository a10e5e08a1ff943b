// Registers the hook "preemption_notice".
#include "holdfast/plugin.hpp"

#include "preemption_notice.hpp"

HOLDFAST_PLUGIN("preemption_notice", "1.0", "stops in time when the machine is taken away") {
  registrar.add<holdfast::plugins::PreemptionNotice>(
      "preemption_notice", "saves and ends with exit code 75 when a file, a command or a local URL gives notice");
}
