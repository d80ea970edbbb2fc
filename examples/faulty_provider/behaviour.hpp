#pragma once

// What happens to one request: decided when it arrives, from the script, the time and a random source.

#include "script.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace faulty {

enum class behaviour : std::uint8_t {
  answer,
  status, ///< an HTTP error
  reset,
  silence,
  empty_body,
  malformed_body,
  no_content,
  error_in_200,
  close_without_answer,
  refused, ///< the request itself was wrong
};

std::string_view to_string(behaviour b) noexcept;

/// One request's fate.
struct plan {
  behaviour what = behaviour::answer;
  duration delay{}; ///< before anything is said
  int status = 200; ///< of behaviour::status
  std::optional<duration> retry_after;
  std::string code, message; ///< of the error object; may be empty
};

using random_source = std::mt19937_64;

/// The outage that a schedule has at `elapsed` since the script was loaded, or null.
const outage* outage_at(const script& s, duration elapsed) noexcept;

/// Uniform in [0, 1).
double draw(random_source& random);

/// Draws a latency.
duration draw_latency(const latency_script& l, random_source& random);

/// Decides. `manual` is the outage that somebody switched on, or null; it goes before the scheduled ones, which go
/// before errors and faults. Always draws the same number of times for the same script, so that a seed gives the same
/// sequence.
plan decide(const script& s, const outage* manual, duration elapsed, random_source& random);

} // namespace faulty
