// The time limits of a connection and of the attempt on it.

#include "client_connection.hpp"

#include "client_core.hpp"
#include "connection_pool.hpp"

#include <algorithm>

namespace switchyard::http {

namespace {

/// How long a connection is idle before it is watched.
constexpr duration watch_after = std::chrono::seconds{1};

/// The longest single wait of a timer: limits may be far beyond what the clock's arithmetic bears.
constexpr duration longest_wait = std::chrono::hours{1};

/// How long a stream may take to its first byte when nothing is said.
constexpr duration stream_first_byte = std::chrono::seconds{60};

std::string in_ms(const char* what, duration d) {
  return what + std::to_string(ceil_ms(d)) + " ms";
}

} // namespace

std::optional<duration> client_connection::first_byte_limit() const noexcept {
  const auto& given = core_->timeouts.first_byte;
  return given || !attempt_->request().stream ? given : stream_first_byte;
}

time_point client_connection::due() const noexcept {
  if (phase_ == phase::idle)
    return idle_since_ + (watched_ ? connection_pool::max_idle_time : watch_after);
  return std::min(limit_, attempt_->limit());
}

void client_connection::schedule() {
  const auto at = due();
  if (at >= timer_at_ && timer_at_ != time_point::max())
    return;
  timer_at_ = std::min(at, clock_now() + longest_wait);
  timer_.expires_at(std::chrono::time_point_cast<boost::asio::steady_timer::duration>(timer_at_));
  timer_.async_wait([me = shared_from_this(), round = ++timer_round_](const error_code&) {
    if (me->timer_round_ == round && me->phase_ != phase::closed)
      me->on_timer();
  });
}

void client_connection::on_timer() {
  timer_at_ = time_point::max();
  const auto now = clock_now();
  if (now < due())
    return schedule();
  if (phase_ == phase::idle)
    return on_idle_timer();
  expire(now);
}

void client_connection::on_idle_timer() {
  if (watched_)
    return close();
  watched_ = true;
  schedule();
  if (!reading_)
    begin_read();
}

void client_connection::expire(time_point now) {
  const auto& limits = core_->timeouts;
  if (now >= attempt_->limit() && attempt_->limit() <= limit_) {
    auto [error, detail] = attempt_->limit_passed();
    return fail(error, std::move(detail));
  }
  switch (limit_error_) {
  case transport_error::connect_timeout:
    return fail(limit_error_, in_ms("no connection within ", limits.connect));
  case transport_error::first_byte_timeout:
    return fail(limit_error_, in_ms("no answer within ", first_byte_limit().value_or(duration{})));
  default:
    return fail(limit_error_, in_ms("nothing more within ", limits.idle));
  }
}

} // namespace switchyard::http
