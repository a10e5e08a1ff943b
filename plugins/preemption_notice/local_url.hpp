// Which URLs a recipe may have polled: those of this machine and of its link, where clouds tell of preemption.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::plugins {

/// Empty when `url` is plain http to "localhost", a loopback or a link-local address (RFC 1122, RFC 3927, RFC 4291)
/// without userinfo; otherwise what is wrong with it, a clause.
std::string local_url_fault(std::string_view url);

/// The URL for logs: without query and fragment.
std::string shown_url(std::string_view url);

}  // namespace holdfast::plugins
