#pragma once

// What a stream is told to do: its chunks, its pace and its faults.

#include "latency_script.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace faulty {

/// Where a fault strikes: after so many chunks with content. 0 is after the opening events (a chat's role, the first
/// events of a response). A stream that has fewer chunks never gets there.
using stream_place = std::int32_t;
/// After the head of the HTTP answer, before any event.
inline constexpr stream_place after_head = -1;

inline constexpr std::size_t most_chunks = 1'000'000;
inline constexpr std::size_t longest_chunk = 16 * 1024;
/// Of all the chunks of a stream together: the last events of a response repeat its text whole.
inline constexpr std::size_t longest_stream_text = std::size_t{64} << 20;

/// A shorter one would be all that a stream does.
inline constexpr duration shortest_keep_alive = std::chrono::milliseconds{1};

enum class usage_policy : std::uint8_t { requested, always, never };
inline constexpr std::array<std::string_view, 3> usage_policy_names{"requested", "always", "never"};

enum class cut_kind : std::uint8_t { reset, close, mid_event, end };
inline constexpr std::array<std::string_view, 4> cut_kind_names{"reset", "close", "mid_event", "end"};

/// Each fault is drawn by itself, with its own rate in [0,1]: several may meet in one stream.
struct cut_script {
  double rate = 0;
  stream_place after = 0;
  cut_kind by = cut_kind::reset;
};

struct stall_script {
  double rate = 0;
  stream_place after = 0;
  std::optional<duration> length{}; ///< for ever when absent
};

/// Every event comes in pieces.
struct drip_script {
  double rate = 0;
  std::size_t bytes = 1; ///< of a piece, from 1
  duration delay{};      ///< between the pieces of an event
};

struct error_event_script {
  double rate = 0;
  stream_place after = after_head;
  std::string code{};    ///< null when empty
  std::string message{}; ///< a default when empty
};

/// One more event, with half of its JSON. The stream goes on.
struct malformed_frame_script {
  double rate = 0;
  stream_place after = 0;
};

struct stream_faults {
  cut_script cut{};
  stall_script stall{};
  drip_script drip{};
  error_event_script error_event{};
  malformed_frame_script malformed_frame{};
  double missing_done = 0;   ///< rate
  double missing_finish = 0; ///< rate
};

struct stream_script {
  std::optional<std::size_t> chunks{}; ///< with content; as many as the answer has words when absent
  std::string text{};                  ///< of each chunk; empty: a word of the answer, from the first again and again
  latency_script first{};              ///< from the opening events to the first chunk
  latency_script interval{};           ///< between chunks
  usage_policy usage = usage_policy::requested;
  bool comments = false;                ///< one before each chunk but the first
  std::optional<duration> keep_alive{}; ///< a comment whenever nothing was sent for so long; none when absent
  stream_faults faults{};
};

} // namespace faulty
