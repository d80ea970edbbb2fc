#pragma once

#include "switchyard/actors/messages.hpp"
#include "switchyard/actors/stores.hpp"

#include <boost/system/result.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard::admin {

/// Reads the query of /admin/telemetry; the reason for the client where something is wrong.
boost::system::result<telemetry_query, std::string> parse_telemetry_query(std::string_view query);

/// The names of usage_group, in its order.
inline constexpr std::array<std::string_view, 3> group_names{"tenant", "route", "model"};

/// What /admin/usage asks for.
struct usage_question {
  usage_group by = usage_group::tenant;
  std::optional<wall_time> since, until;
};
boost::system::result<usage_question, std::string> parse_usage_query(std::string_view query);

/// Reads the body of POST /admin/circuits/{id}: {"mode": ...} or {"reset": true}, or both.
boost::system::result<change_circuit, std::string> parse_circuit_change(std::string_view body);

} // namespace switchyard::admin
