// The part of the provider that sends streams: takes their steps and waits between them.

#include "service.hpp"

namespace faulty {
namespace {

// Waiting for a slow client, of one stream. A piece always fits.
constexpr std::size_t most_waiting = 64 * 1024;

// Pieces that one stream sends before the others have their turn.
constexpr int longest_turn = 32;

} // namespace

void service::begin_stream(number id) {
  auto& p = pending_.at(id);
  // Numbers follow the order of arrival, so a seed gives each stream the same draws however they run side by side.
  p.flow = std::make_unique<stream>(p.request, p.fate.what, p.stream_rules, seed_ + 0x9E3779B97F4A7C15u * id);
  statistics_.stream_began();
  switchyard::header_list headers;
  headers.add("Content-Type", "text/event-stream");
  headers.add("Cache-Control", "no-cache");
  p.exchange->begin(200, headers);
  // Not at once: the head is sent when this thread is free, and a cut must not come before it.
  later(id, duration::zero(), &service::continue_stream);
}

void service::continue_stream(number id) {
  auto& p = pending_.at(id);
  for (int sent = 0; sent < longest_turn; ++sent) {
    const auto step = p.unsent.empty() ? p.flow->next() : stream::step{stream::action::write, p.unsent};
    switch (step.what) {
    case stream::action::write:
      if (!send(id, p, step.bytes))
        return;
      break;
    case stream::action::wait:
      return later(id, step.length, &service::continue_stream);
    case stream::action::end:
    case stream::action::reset:
    case stream::action::close:
    case stream::action::stop:
      return end_stream(id, step.what);
    }
  }
  later(id, duration::zero(), &service::continue_stream);
}

// Returns whether it was taken. One that is not is sent when the client has read what waits for it, or never.
bool service::send(number id, pending& p, std::string_view piece) {
  if (p.exchange->write(piece, most_waiting)) {
    statistics_.stream_wrote(piece.size());
    p.unsent = {};
    return true;
  }
  p.unsent = piece;
  statistics_.stream_waits();
  p.exchange->on_room([this, id] {
    if (pending_.contains(id))
      continue_stream(id);
  });
  return false;
}

void service::end_stream(number id, stream::action how) {
  const bool cut = how != stream::action::end;
  statistics_.completed(200);
  statistics_.stream_ended(cut ? stream_end::cut : stream_end::finished);
  const pending p = take(id);
  switch (how) {
  case stream::action::reset:
    return p.exchange->abort();
  case stream::action::close:
    return p.exchange->close();
  default:
    return p.exchange->end();
  }
}

} // namespace faulty
