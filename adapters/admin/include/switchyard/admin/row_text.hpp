#pragma once

#include "switchyard/actors/stores.hpp"

#include <string>

namespace switchyard::admin {

/// A row of the telemetry log as one line of JSON, with the fields of /admin/telemetry.
std::string row_text(const telemetry_row& row);

/// RFC 3339, UTC, with milliseconds.
std::string time_text(wall_time t);

} // namespace switchyard::admin
