#pragma once

// The layout of the words that a circuit's callers and its breaker share (circuit_cell.cpp).

#include "switchyard/engine/circuit_cell.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace switchyard::circuit_words {

constexpr auto unknown_time = std::numeric_limits<std::int64_t>::max();

/// A field of a 64-bit word; counters in it wrap.
template <unsigned Shift, unsigned Width>
struct field {
  static constexpr std::uint64_t max = (std::uint64_t{1} << Width) - 1;
  static constexpr std::uint32_t get(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> Shift & max);
  }
  static constexpr std::uint64_t set(std::uint64_t word, std::uint64_t value) noexcept {
    return (word & ~(max << Shift)) | (value & max) << Shift;
  }
  static constexpr std::uint64_t limited(std::uint64_t word, std::uint64_t value) noexcept {
    return set(word, std::min(value, max));
  }
  /// `a - b`, wrapped. Negative when `b` was read later and has passed `a`.
  static constexpr std::int32_t ahead(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::int32_t>((a - b) << (32 - Width)) >> (32 - Width);
  }
};

// The tickets word. A drain is due long before so many tickets are pending that they would wrap.
using taken_tickets = field<0, 28>;
using taken_places = field<28, 8>;
using epoch = field<36, 8>;
// A hundred thousand calls in flight may all report by message at once. The incarnation counts the breakers that came
// after a dead one, for as long as a message to a dead one may linger.
using overflowed = field<44, 17>;
using incarnation = field<61, 3>;

// The progress word: the same two counters as far as they are counted, and the distances from there.
using settled_tickets = field<0, 28>;
using settled_places = field<28, 8>;
using any_distance = field<36, 14>;
using failure_distance = field<50, 14>;

static_assert(circuit_cell::max_capacity <= taken_places::max / 2, "places are told apart across a lap");

constexpr std::int32_t pending_tickets(std::uint64_t tickets, std::uint64_t progress) noexcept {
  return taken_tickets::ahead(taken_tickets::get(tickets), settled_tickets::get(progress));
}

/// Whether what is pending cannot have tripped the circuit.
constexpr bool harmless(std::uint64_t tickets, std::uint64_t progress) noexcept {
  const auto places = taken_places::ahead(taken_places::get(tickets), settled_places::get(progress));
  return places < static_cast<std::int32_t>(failure_distance::get(progress)) ||
         pending_tickets(tickets, progress) < static_cast<std::int32_t>(any_distance::get(progress));
}

constexpr std::int64_t nanoseconds(time_point t) noexcept {
  return t.time_since_epoch().count();
}

/// The admission word: generation in the high half, the rest in bits of the low half.
struct view {
  circuit_state state = circuit_state::closed;
  circuit_mode mode = circuit_mode::automatic;
  bool probe_available = false;
  bool success_is_idle = false;
  std::uint32_t generation = 1;

  constexpr std::uint64_t pack() const noexcept {
    return std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(state) | static_cast<std::uint32_t>(mode) << 2 |
           static_cast<std::uint32_t>(probe_available) << 4 | static_cast<std::uint32_t>(success_is_idle) << 5;
  }
  static constexpr view unpack(std::uint64_t word) noexcept {
    const auto bits = static_cast<std::uint32_t>(word);
    return {static_cast<circuit_state>(bits & 3), static_cast<circuit_mode>(bits >> 2 & 3), (bits >> 4 & 1) != 0,
            (bits >> 5 & 1) != 0, static_cast<std::uint32_t>(word >> 32)};
  }
};

/// `a - b` of two generations.
constexpr std::int32_t newer(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>(a - b);
}

/// Names of queued reports and of those that travel in messages are kept apart by the top bit. The latter also name the
/// incarnation of the breaker whose they are.
constexpr std::uint32_t overflow_name = 1u << 31;
constexpr unsigned incarnation_shift = 28;
constexpr std::uint32_t name_mask = (1u << 27) - 1; ///< so that a name plus 1 is never 0

inline bool is_plain_success(const outcome_report& r) noexcept {
  return r.what == outcome::success && r.probe == 0 && r.amends == 0;
}

} // namespace switchyard::circuit_words
