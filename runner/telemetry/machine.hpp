// What a run is made on, for the events start and resume. Knows no run.
#pragma once

#include <string>
#include <string_view>

#include "telemetry/event_log.hpp"

namespace holdfast::telemetry {

/// host, system, processor, cores, memory_total_bytes: what uname(2), /proc/cpuinfo, sched_getaffinity(2) and
/// sysinfo(2) say; a fact that cannot be had is left out.
EventFields machine_facts();

/// The value of the first line "model name : VALUE" of a text like /proc/cpuinfo; empty without one.
std::string processor_name(std::string_view cpuinfo);

}  // namespace holdfast::telemetry
