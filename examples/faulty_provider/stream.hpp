#pragma once

// The course of one stream: what to do next, until its end. Knows no clock and no socket.

#include "behaviour.hpp"
#include "stream_events.hpp"
#include "stream_script.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace faulty {

/// Which faults of the script this stream has.
struct stream_fate {
  std::optional<stream_place> error_event{}, malformed_frame{}, stall{}, cut{};
  cut_kind cut_by = cut_kind::reset;
  bool drips = false;
  bool missing_done = false;
  bool missing_finish = false;
};

/// The stream's own fate: for behaviour::answer each fault of the script is drawn, always as many draws for the same
/// script. The behaviours that are wrong in a body have their own fate.
stream_fate draw_fate(const stream_faults& faults, behaviour b, random_source& random);

/// Asked for one step after the other, each when the one before is done.
///
///   head -> opening -> (pause -> chunk) ... -> finish, usage, done -> end
///
/// At each place between them come, in this order, the faults that strike there: error event (the end), malformed
/// frame, stall, cut (the end).
class stream {
public:
  enum class action : std::uint8_t {
    write, ///< send `bytes`
    wait,  ///< do nothing for `length`
    end,   ///< end the body: all was said that the script lets be said
    reset, ///< cut: reset the connection
    close, ///< cut: end the connection in good order, amid the body
    stop,  ///< cut: end the body in good order, amid the stream
  };
  struct step {
    action what;
    std::string_view bytes{}; ///< of `write`; valid until the next call of `next`
    duration length{};        ///< of `wait`
  };

  /// `seed` is of the stream's own draws: streams that run side by side have the same pace and faults each time.
  stream(const call& c, behaviour b, std::shared_ptr<const stream_script> s, std::uint64_t seed);

  step next();

private:
  enum class fault : std::uint8_t { error_event, malformed_frame, stall, cut, none };

  step next_piece();
  step next_pause();
  void advance();
  bool strike(fault f);
  void cut();
  void next_chunk();
  void close_content();
  std::size_t next_index() const noexcept { return static_cast<std::size_t>(std::max(place_, stream_place{0})); }

  std::shared_ptr<const stream_script> script_;
  random_source random_;
  stream_fate fate_;
  stream_events events_;
  std::string event_; ///< being sent, from `sent_` on; may be several
  std::size_t sent_ = 0;
  duration pause_{}; ///< still to wait once the event is sent
  stream_place place_ = after_head;
  fault next_fault_ = fault::error_event; ///< to be looked at in this place
  bool paused_ = false;                   ///< the pause before the next chunk was made
  bool rested_ = false;                   ///< the pause before the next piece of a dripping event was made
  std::optional<action> last_{};          ///< what ends the stream once the event is sent
};

} // namespace faulty
