// A listening TCP socket. Private to this folder.
#pragma once

#include <string>

#include "base/folder.hpp"
#include "base/listen_address.hpp"

namespace holdfast::telemetry {

/// Bound, listening, non-blocking, closed on exec. An address that a run left a moment ago can be taken at once
/// (SO_REUSEADDR); one that another process listens on cannot. Every address means IPv6 and IPv4 where the machine has
/// both. A negative descriptor when that cannot be, with the system's words in `problem`. `address.port` becomes the
/// real one.
base::File listening_socket(base::ListenAddress& address, std::string& problem);

}  // namespace holdfast::telemetry
