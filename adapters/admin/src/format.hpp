#pragma once

#include "switchyard/actors/messages.hpp"
#include "switchyard/engine/events.hpp"
#include "switchyard/runtime/core.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string_view>
#include <utility>

namespace switchyard::admin {

boost::json::object to_json(const circuit_description& d, const core& engine);
boost::json::object to_json(const provider_health& h);
boost::json::object to_json(const budget_figures& b);
boost::json::object to_json(const usage_row& u, usage_group by);
boost::json::object to_json(const telemetry_row& row);

/// Name and data of an event for /admin/events; an empty name for one that is not shown there.
std::pair<std::string_view, boost::json::object> to_json(const event& e);

} // namespace switchyard::admin
