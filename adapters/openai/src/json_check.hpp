#pragma once

#include <boost/json/error.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace switchyard::openai::detail {

/// Where and why a text is not JSON.
struct json_fault {
  boost::json::error_code reason;
  std::size_t offset = 0; ///< of the byte that cannot be
};

/// Checks that a text is one whole JSON value nested no deeper than `max_depth`. Nothing when it is.
std::optional<json_fault> check_json(std::string_view text);

/// The offset of the first byte that is not part of well-formed UTF-8 (RFC 3629), or nothing.
std::optional<std::size_t> invalid_utf8(std::string_view text) noexcept;

} // namespace switchyard::openai::detail
