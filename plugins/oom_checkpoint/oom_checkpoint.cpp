// Before the last rung there is nothing to save: the run goes on.
#include "oom_checkpoint.hpp"

namespace holdfast::plugins {

void OomCheckpoint::out_of_memory(const OomReport& report, Requests& requests) {
  if (report.rung == "save") requests.save("oom");
}

}  // namespace holdfast::plugins
