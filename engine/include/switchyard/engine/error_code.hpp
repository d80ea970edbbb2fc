#pragma once

#include <cstdint>
#include <string_view>

namespace switchyard {

/// Switchyard's own errors: the `code` of an error answer and of the embedding API.
enum class errc : std::uint8_t {
  invalid_request = 1,
  unauthorized,
  unknown_route,
  payload_too_large,
  context_length_exceeded,
  idempotency_key_reused,
  idempotency_in_flight,
  idempotency_interrupted,
  store_unavailable,
  not_found,
  method_not_allowed,
  request_timeout,
  headers_too_large,
  not_implemented,
  internal,
  misconfigured,
  budget_exceeded,
  overloaded,
  circuit_open,
  upstream_connection,
  upstream_invalid,
  upstream_timeout,
  upstream_cut,     ///< a stream broke off after its first content [S2]
  upstream_stalled, ///< a stream fell silent after its first content [S2]
  upstream_error,   ///< an HTTP error of the provider that ended the request; the answer itself goes to the caller
  deadline_exceeded,
  fallback_exhausted,
  shutting_down,
  cancelled, ///< the caller went away: nobody is there to read it
};

/// The code's name, e.g. "fallback_exhausted".
std::string_view to_string(errc e) noexcept;

/// The HTTP status that goes with a code. fallback_exhausted is 503 when every route was refused or rate limited
/// (`all_refused`), else 502. upstream_error and cancelled have none of their own and read as 502 and 499.
int http_status(errc e, bool all_refused = false) noexcept;

} // namespace switchyard
