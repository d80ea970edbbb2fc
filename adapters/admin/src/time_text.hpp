#pragma once

#include "switchyard/engine/time.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace switchyard::admin {

/// RFC 3339 in UTC with milliseconds, e.g. "2026-01-31T12:00:00.250Z".
std::string to_rfc3339(wall_time t);

/// RFC 3339 from 1970 to 2250, or Unix milliseconds to the year 2255; nothing for anything else.
std::optional<wall_time> parse_time(std::string_view text);

} // namespace switchyard::admin
