#pragma once

#include <spdlog/common.h>

#include <string_view>

namespace switchyard::gateway {

enum class log_format { text, json };

/// Sends what spdlog is told from now on to stderr, from `least` on: as text for people, or each line as one JSON
/// object with `time` (RFC 3339, UTC), `level` and `message`.
void log_to_stderr(log_format format, spdlog::level::level_enum least);

} // namespace switchyard::gateway
