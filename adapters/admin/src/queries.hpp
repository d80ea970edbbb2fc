#pragma once

#include "switchyard/actors/messages.hpp"
#include "switchyard/actors/stores.hpp"

#include <boost/system/result.hpp>

#include <string>
#include <string_view>

namespace switchyard::admin {

/// Reads the query of /admin/telemetry; the reason for the client where something is wrong.
boost::system::result<telemetry_query, std::string> parse_telemetry_query(std::string_view query);

/// Reads the body of POST /admin/circuits/{id}: {"mode": ...} or {"reset": true}, or both.
boost::system::result<change_circuit, std::string> parse_circuit_change(std::string_view body);

} // namespace switchyard::admin
