#include "switchyard/runtime/error_category.hpp"

#include <boost/system/errc.hpp>

#include <string>

namespace switchyard {

namespace {

std::string_view meaning(errc e) noexcept {
  switch (e) {
  case errc::invalid_request:
    return "the request is not valid";
  case errc::unauthorized:
    return "the tenant key is missing or unknown";
  case errc::unknown_route:
    return "there is no such active route";
  case errc::payload_too_large:
    return "the body is too large";
  case errc::context_length_exceeded:
    return "the request is longer than any route's context window";
  case errc::idempotency_key_reused:
    return "the idempotency key was used with another payload";
  case errc::idempotency_in_flight:
    return "a request with this idempotency key is still running";
  case errc::idempotency_interrupted:
    return "a request with this idempotency key was interrupted, its outcome is unknown";
  case errc::store_unavailable:
    return "the store of idempotency keys is not available";
  case errc::not_found:
    return "there is nothing at this path";
  case errc::method_not_allowed:
    return "the path does not take this method";
  case errc::request_timeout:
    return "the request did not arrive in time";
  case errc::headers_too_large:
    return "the headers are too large";
  case errc::not_implemented:
    return "not available in this version";
  case errc::internal:
    return "an internal error";
  case errc::misconfigured:
    return "the route is misconfigured";
  case errc::budget_exceeded:
    return "the budget is used up";
  case errc::overloaded:
    return "a local limit is reached";
  case errc::circuit_open:
    return "the circuit refuses calls";
  case errc::upstream_connection:
    return "the provider could not be reached";
  case errc::upstream_invalid:
    return "the provider gave no usable answer";
  case errc::upstream_timeout:
    return "the provider did not answer in time";
  case errc::upstream_cut:
    return "the provider's stream broke off";
  case errc::upstream_stalled:
    return "the provider's stream fell silent";
  case errc::upstream_error:
    return "the provider answered with an error";
  case errc::deadline_exceeded:
    return "the request's deadline ran out";
  case errc::fallback_exhausted:
    return "no route gave an answer";
  case errc::shutting_down:
    return "shutting down";
  case errc::cancelled:
    return "cancelled";
  }
  return "an unknown error";
}

// Boost's base has a protected, non-virtual destructor on purpose: categories are never deleted.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class category_type final : public boost::system::error_category {
public:
  // A fixed identity, so that two copies of a static library in one process still agree.
  constexpr category_type() noexcept : error_category(0x7d1f4ab6c2938e55ull) {}

  const char* name() const noexcept override { return "switchyard"; }

  std::string message(int value) const override {
    const auto e = static_cast<errc>(value);
    return std::string{meaning(e)} + " (" + std::string{to_string(e)} + ")";
  }

  boost::system::error_condition default_error_condition(int value) const noexcept override {
    namespace generic = boost::system::errc;
    switch (static_cast<errc>(value)) {
    case errc::cancelled:
      return generic::make_error_condition(generic::operation_canceled);
    case errc::upstream_timeout:
    case errc::deadline_exceeded:
    case errc::request_timeout:
      return generic::make_error_condition(generic::timed_out);
    case errc::invalid_request:
      return generic::make_error_condition(generic::invalid_argument);
    case errc::circuit_open:
    case errc::overloaded:
    case errc::shutting_down:
      return generic::make_error_condition(generic::resource_unavailable_try_again);
    default:
      return {value, *this};
#pragma GCC diagnostic pop
    }
  }
};

} // namespace

const boost::system::error_category& category() noexcept {
  static constexpr category_type instance;
  return instance;
}

} // namespace switchyard
