#include "stream.hpp"

#include "answer_parts.hpp"

#include <algorithm>
#include <utility>

namespace faulty {
namespace {

// Of one write. What does not drip is still not written in one go when it is large: a slow client is to be noticed.
constexpr std::size_t largest_piece = 16 * 1024;

constexpr std::string_view comment = ": between chunks\n\n";
constexpr std::string_view keep_alive_comment = ": keep-alive\n\n";

} // namespace

stream_fate draw_fate(const stream_faults& f, behaviour b, random_source& random) {
  stream_fate fate;
  const auto happens = [&random](double rate) { return draw(random) < rate; };
  const auto place = [&](const auto& fault) { return happens(fault.rate) ? std::optional(fault.after) : std::nullopt; };
  switch (b) {
  case behaviour::empty_body:
    fate.cut = after_head;
    fate.cut_by = cut_kind::end;
    break;
  case behaviour::malformed_body:
    fate.malformed_frame = fate.cut = 0;
    fate.cut_by = cut_kind::end;
    break;
  case behaviour::error_in_200:
    fate.error_event = after_head;
    break;
  case behaviour::no_content:
    break;
  default:
    fate.error_event = place(f.error_event);
    fate.malformed_frame = place(f.malformed_frame);
    fate.stall = place(f.stall);
    fate.cut = place(f.cut);
    fate.cut_by = f.cut.by;
    fate.drips = happens(f.drip.rate);
    fate.missing_done = happens(f.missing_done);
    fate.missing_finish = happens(f.missing_finish);
    break;
  }
  return fate;
}

stream::stream(const call& c, behaviour b, std::shared_ptr<const stream_script> s, std::uint64_t seed)
    : script_(std::move(s)),
      random_(seed),
      fate_(draw_fate(script_->faults, b, random_)),
      events_(c, *script_, b == behaviour::no_content) {}

stream::step stream::next() {
  for (;;) {
    if (sent_ < event_.size())
      return next_piece();
    if (pause_ > duration::zero())
      return next_pause();
    if (last_)
      return {*last_};
    event_.clear();
    sent_ = 0;
    advance();
  }
}

stream::step stream::next_piece() {
  if (fate_.drips && sent_ > 0 && !std::exchange(rested_, true))
    return {action::wait, {}, script_->faults.drip.delay};
  rested_ = false;
  const auto piece = std::string_view(event_).substr(sent_, fate_.drips ? script_->faults.drip.bytes : largest_piece);
  sent_ += piece.size();
  return {action::write, piece};
}

// A long pause with keep-alives is made in parts.
stream::step stream::next_pause() {
  const auto part = std::min(pause_, script_->keep_alive.value_or(pause_));
  pause_ -= part;
  if (pause_ > duration::zero()) {
    event_ = keep_alive_comment;
    sent_ = 0;
  }
  return {action::wait, {}, part};
}

void stream::advance() {
  while (next_fault_ != fault::none) {
    const auto f = next_fault_;
    next_fault_ = static_cast<fault>(static_cast<int>(f) + 1);
    if (strike(f))
      return;
  }
  if (place_ == after_head) {
    events_.opening(event_);
    place_ = 0;
    next_fault_ = fault::error_event;
  } else if (static_cast<std::size_t>(place_) < events_.chunks()) {
    next_chunk();
  } else {
    close_content();
  }
}

// Returns whether something comes of it.
bool stream::strike(fault f) {
  switch (f) {
  case fault::error_event: {
    if (fate_.error_event != place_)
      return false;
    const auto& error = script_->faults.error_event;
    events_.error(event_, error.message.empty() ? overloaded_message : error.message, error.code);
    last_ = action::end;
    return true;
  }
  case fault::malformed_frame:
    if (fate_.malformed_frame != place_)
      return false;
    event_ = events_.half(next_index()) + "\n\n";
    return true;
  case fault::stall:
    if (fate_.stall != place_)
      return false;
    pause_ = script_->faults.stall.length.value_or(switchyard::longest_duration);
    return true;
  case fault::cut:
    if (fate_.cut != place_)
      return false;
    cut();
    return true;
  case fault::none:
    break;
  }
  return false;
}

void stream::cut() {
  if (fate_.cut_by == cut_kind::mid_event)
    event_ = events_.half(next_index());
  switch (fate_.cut_by) {
  case cut_kind::close:
    last_ = action::close;
    break;
  case cut_kind::end:
    last_ = action::stop;
    break;
  case cut_kind::reset:
  case cut_kind::mid_event:
    last_ = action::reset;
    break;
  }
}

void stream::next_chunk() {
  if (!std::exchange(paused_, true)) {
    pause_ = draw_latency(place_ == 0 ? script_->first : script_->interval, random_);
    return;
  }
  paused_ = false;
  if (script_->comments && place_ > 0)
    event_ = comment;
  events_.chunk(event_, static_cast<std::size_t>(place_));
  ++place_;
  next_fault_ = fault::error_event;
}

void stream::close_content() {
  if (!fate_.missing_finish)
    events_.finish(event_);
  events_.usage(event_);
  if (!fate_.missing_done)
    events_.done(event_);
  last_ = action::end;
}

} // namespace faulty
