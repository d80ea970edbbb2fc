#pragma once

// Lengths of time that are drawn: of an answer's latency and of the pauses in a stream.

#include "switchyard/engine/duration_text.hpp"
#include "switchyard/engine/time.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace faulty {

using switchyard::duration;

enum class distribution : std::uint8_t { fixed, uniform, lognormal, exponential };
inline constexpr std::array<std::string_view, 4> distribution_names{"fixed", "uniform", "lognormal", "exponential"};

/// How long something takes.
struct latency_script {
  distribution shape = distribution::fixed;
  duration mean{};                             ///< ignored when uniform
  duration min{};                              ///< nothing is faster
  duration max = switchyard::longest_duration; ///< nothing is slower; needed when uniform
  double sigma = 0.5;                          ///< of the logarithm; lognormal only
};

} // namespace faulty
