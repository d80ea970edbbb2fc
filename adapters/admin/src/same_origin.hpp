#pragma once

#include "switchyard/http/server.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace switchyard::admin {

/// Keeps web pages away from an admin plane without a token, which a browser on the same machine reaches like any other
/// program. Pure.
///
/// Refused is
///  - a Host that is neither loopback nor the host of `listen` (its port does not matter: a tunnel has its own): a page
///    whose name was made to resolve to this machine (DNS rebinding) counts as the same site in the browser, but its
///    Host stays its own name;
///  - anything but GET and HEAD with an Origin other than the Host it is sent to, or with a Sec-Fetch-Site other than
///    same-origin or none. The browser sends such a POST without asking first; what a GET answers it does not let the
///    page read.
/// Programs that are no browsers send neither Origin nor Sec-Fetch-Site. Returns the reason for the client, nothing for
/// a request that is accepted.
std::optional<std::string> cross_site_refusal(const http::request& r, std::string_view listen);

} // namespace switchyard::admin
