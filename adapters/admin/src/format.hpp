#pragma once

#include "switchyard/actors/messages.hpp"
#include "switchyard/engine/events.hpp"
#include "switchyard/runtime/core.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard::admin {

/// RFC 3339 in UTC with milliseconds, e.g. "2026-01-31T12:00:00.250Z".
std::string to_rfc3339(wall_time t);

/// RFC 3339 or Unix milliseconds; nothing for anything else.
std::optional<wall_time> parse_time(std::string_view text);

boost::json::object to_json(const circuit_description& d, const core& engine);
boost::json::object to_json(const provider_health& h);
boost::json::object to_json(const telemetry_row& row);

/// Name and data of an event for /admin/events; an empty name for one that is not shown there.
std::pair<std::string_view, boost::json::object> to_json(const event& e);

} // namespace switchyard::admin
