#pragma once

// Lengths of time and sizes as people write them, in the configuration file and in request headers
// (`X-Switchyard-Timeout: 500ms`). Pure functions, safe from any thread.

#include "switchyard/engine/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard {

/// The longest duration that is accepted anywhere: ten years of 365 days. Far above any use, and far below what
/// would overflow when it is added to a point in time.
inline constexpr duration longest_duration = std::chrono::hours{24 * 365 * 10};

/// Parses a whole or decimal number followed by a unit: `250ms`, `1.5s`, `15m`, `24h`, `30d`.
/// Nothing for anything else: no unit, a sign, white space, words, or more than `longest_duration`. Zero parses
/// (`0s`); whether it makes sense is the caller's question. Digits below a nanosecond are cut off.
std::optional<duration> parse_duration(std::string_view text) noexcept;

/// The shortest text that `parse_duration` reads back as `d`: the largest unit in which it is whole, e.g. `90s`,
/// `15m`; below a millisecond a decimal number of milliseconds. A negative one has a minus sign, which does not
/// parse.
std::string format_duration(duration d);

/// Parses a whole number of bytes, with `B`, `KiB`, `MiB`, `GiB` (powers of 1,024), `KB`, `MB`, `GB` (powers of
/// 1,000) or no unit. Nothing for anything else, or when it does not fit in 64 bits.
std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;

/// The shortest text that `parse_bytes` reads back, e.g. `16MiB`, `1000B`.
std::string format_bytes(std::uint64_t bytes);

} // namespace switchyard
