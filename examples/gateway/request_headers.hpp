#pragma once

#include "switchyard/engine/cache_control.hpp"
#include "switchyard/engine/header_list.hpp"
#include "switchyard/engine/time.hpp"

#include <boost/system/result.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace switchyard::gateway {

/// What a client's headers ask of the gateway itself.
struct request_options {
  std::optional<std::string> idempotency_key;
  std::optional<duration> idempotency_ttl;
  std::optional<duration> timeout;
  bool fallback = true;
  cache_directives cache;
};

/// Reads them; the reason for the client where a value is not accepted.
boost::system::result<request_options, std::string> read_options(const header_list& headers);

/// The client's X-Request-Id if it may be used: 1-128 of [A-Za-z0-9._-].
std::optional<std::string_view> usable_request_id(const header_list& headers) noexcept;

/// Whether a header of that name goes on to a provider, unless Connection names it.
bool is_forwarded(std::string_view name) noexcept;

/// The headers that go on to a provider: not hop-by-hop ones (RFC 9110 7.6.1), Authorization, Cookie, Idempotency-Key,
/// X-Switchyard-*; Accept-Encoding, Host and Content-Length are the HTTP client's business, traceparent and tracestate
/// that of trace_context.hpp.
header_list forwarded_headers(const header_list& headers, std::string_view request_id);

} // namespace switchyard::gateway
