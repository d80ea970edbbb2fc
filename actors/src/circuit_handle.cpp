#include "switchyard/actors/circuit_handle.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <utility>

namespace switchyard {

namespace {

duration::rep slow_limit_of(const circuit_settings& s) {
  return s.window && s.window->slow_call_rate ? s.window->slow_call_after.count() : -1;
}

} // namespace

circuit_handle::circuit_handle(circuit_id id, const circuit_settings& s)
    : settings_(s),
      slow_after_(slow_limit_of(s)),
      cell_(std::make_shared<circuit_cell>(std::move(id), s.window.has_value())) {}

circuit_handle::~circuit_handle() {
  if (const auto last = breaker_.get())
    caf::anon_send_exit(last, caf::exit_reason::user_shutdown);
}

circuit_settings circuit_handle::settings() const {
  const std::lock_guard lock{mutex_};
  return settings_;
}

bool circuit_handle::configure(const circuit_settings& s) {
  const std::lock_guard lock{mutex_};
  if (settings_ == s)
    return false;
  settings_ = s;
  slow_after_.store(slow_limit_of(s), std::memory_order_relaxed);
  return true;
}

} // namespace switchyard
