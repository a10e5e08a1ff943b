// One delivery of an exposition to a Pushgateway. Owner of libcurl, which no header shows.
#pragma once

#include <string>

#include "holdfast/options.hpp"

namespace holdfast::telemetry {

struct PushSettings {
  std::string url;             ///< of the gateway: "http://gateway:9091"
  std::string run;             ///< grouping key beside job="holdfast"
  std::string user, password;  ///< both empty: none
  Duration connect = std::chrono::seconds(1);
  Duration whole = std::chrono::seconds(3);  ///< of one delivery, name lookup and answer included
};

/// Where it goes: URL/metrics/job/holdfast/run/NAME, the name encoded as the gateway reads it
/// (https://github.com/prometheus/pushgateway#url): percent-encoded, or as base64 where a path cannot hold it.
std::string push_url(const PushSettings& settings);

/// POST: metrics of the same names are replaced in the group, others stay, so a success of last week outlives the
/// failure of today. Follows no redirect. Blocks at most `whole`; ignores signals. Empty when the gateway took it, else
/// what went wrong, in words without credentials.
std::string push(const PushSettings& settings, const std::string& exposition);

}  // namespace holdfast::telemetry
