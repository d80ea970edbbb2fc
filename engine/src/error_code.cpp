#include "switchyard/engine/error_code.hpp"

#include <array>

namespace switchyard {

std::string_view to_string(errc e) noexcept {
  static constexpr std::array<std::string_view, 30> names{
      "ok",
      "invalid_request",
      "unauthorized",
      "unknown_route",
      "payload_too_large",
      "context_length_exceeded",
      "idempotency_key_reused",
      "idempotency_in_flight",
      "idempotency_interrupted",
      "store_unavailable",
      "not_found",
      "method_not_allowed",
      "request_timeout",
      "headers_too_large",
      "not_implemented",
      "internal",
      "misconfigured",
      "budget_exceeded",
      "overloaded",
      "circuit_open",
      "upstream_connection",
      "upstream_invalid",
      "upstream_timeout",
      "upstream_cut",
      "upstream_stalled",
      "upstream_error",
      "deadline_exceeded",
      "fallback_exhausted",
      "shutting_down",
      "cancelled",
  };
  const auto index = static_cast<std::size_t>(e);
  return index < names.size() ? names[index] : "unknown";
}

int http_status(errc e, bool all_refused) noexcept {
  switch (e) {
  case errc::invalid_request:
  case errc::context_length_exceeded:
    return 400;
  case errc::unauthorized:
    return 401;
  case errc::unknown_route:
  case errc::not_found:
    return 404;
  case errc::method_not_allowed:
    return 405;
  case errc::request_timeout:
    return 408;
  case errc::idempotency_in_flight:
  case errc::idempotency_interrupted:
    return 409;
  case errc::payload_too_large:
    return 413;
  case errc::idempotency_key_reused:
    return 422;
  case errc::budget_exceeded:
    return 429;
  case errc::headers_too_large:
    return 431;
  case errc::cancelled:
    return 499; // nobody reads it; the customary number in logs
  case errc::internal:
  case errc::misconfigured:
    return 500;
  case errc::not_implemented:
    return 501;
  case errc::upstream_connection:
  case errc::upstream_cut: // a stream has its status before it breaks off: these two go into an event
  case errc::upstream_stalled:
  case errc::upstream_invalid:
  case errc::upstream_error:
    return 502;
  case errc::store_unavailable:
  case errc::overloaded:
  case errc::circuit_open:
  case errc::shutting_down:
    return 503;
  case errc::upstream_timeout:
  case errc::deadline_exceeded:
    return 504;
  case errc::fallback_exhausted:
    return all_refused ? 503 : 502;
  }
  return 500;
}

} // namespace switchyard
