#pragma once

#include "switchyard/engine/error_code.hpp"

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>

#include <type_traits>

namespace switchyard {

/// The one category of all of Switchyard's errors; its values are those of errc. An error compares equal to the generic
/// condition that it amounts to where there is one: cancelled to operation_canceled, upstream_timeout,
/// deadline_exceeded and request_timeout to timed_out, invalid_request to invalid_argument, circuit_open, overloaded
/// and shutting_down to resource_unavailable_try_again.
const boost::system::error_category& category() noexcept;

inline boost::system::error_code make_error_code(errc e) noexcept {
  return {static_cast<int>(e), category()};
}

} // namespace switchyard

template <>
struct boost::system::is_error_code_enum<switchyard::errc> : std::true_type {};
