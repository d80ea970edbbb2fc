#include "guarded_circuit.hpp"

#include "runtime_state.hpp"

#include "switchyard/http/io_threads.hpp"
#include "switchyard/runtime/guard.hpp"

#include <boost/asio/post.hpp>

#include <condition_variable>
#include <utility>

namespace switchyard::detail {

namespace {

time_point steady_now() noexcept {
  return std::chrono::steady_clock::now();
}

// An admission without a clock: later than all but an unlimited validity, so the cell never relies on a time that has
// not come. What it cannot answer for this is asked again with the real time.
constexpr time_point latest = time_point::max() - duration{1};

outcome_report success_of(std::uint32_t generation) {
  outcome_report r;
  r.generation = generation;
  r.what = outcome::success;
  return r;
}

// Where one who waits and the breaker's answer meet; whoever comes second takes care of the permit.
class meeting {
public:
  void bring(acquisition a) {
    std::lock_guard lock{mutex_};
    if (!left_)
      answer_.emplace(std::move(a));
    ready_.notify_one();
  }
  std::optional<acquisition> wait_for(duration limit) {
    std::unique_lock lock{mutex_};
    ready_.wait_for(lock, limit, [this] { return answer_.has_value(); });
    left_ = true; // a permit that comes from now on goes back at once [C16]
    return std::exchange(answer_, std::nullopt);
  }

private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::optional<acquisition> answer_;
  bool left_ = false;
};

} // namespace

guarded_circuit::guarded_circuit(runtime_state& owner, std::shared_ptr<const core::circuit_access> access)
    : owner_(owner), access_(std::move(access)), cell_(*access_->cell), slow_after_(*access_->slow_after) {}

std::optional<duration> guarded_circuit::slow_after() const noexcept {
  const auto limit = slow_after_.load(std::memory_order_relaxed);
  return limit < 0 ? std::nullopt : std::optional{duration{limit}};
}

// ---- admission -------------------------------------------------------------------------------------------------

acquisition guarded_circuit::grant(std::uint32_t generation, std::uint32_t probe) noexcept {
  if (slow_after())
    return acquisition{permit_key{}, *this, generation, probe, steady_now()};
  return acquisition{permit_key{}, *this, generation, probe};
}

acquisition guarded_circuit::acquire() noexcept {
  if (const auto fast = cell_.try_admit(latest); fast.what == fast_admission::kind::admitted)
    return grant(fast.generation, 0);
  if (auto answer = try_now())
    return *std::move(answer);
  return ask_and_wait();
}

std::optional<acquisition> guarded_circuit::try_now() noexcept {
  using kind = fast_admission::kind;
  const auto answer = cell_.try_admit(steady_now());
  switch (answer.what) {
  case kind::admitted:
    return grant(answer.generation, 0);
  case kind::refused:
    return refused(answer.wait);
  case kind::ask:
    break;
  }
  return std::nullopt;
}

void guarded_circuit::ask(std::function<void(acquisition)> on_answer) {
  gate::pass pass{owner_.gate()};
  if (!pass)
    return on_answer(unavailable());
  access_->ask(
      [this, on_answer = std::move(on_answer)](std::optional<admission_verdict> v) { on_answer(answer_for(v)); });
}

acquisition guarded_circuit::keeping(acquisition a) noexcept {
  if (a) {
    a->flags_ |= permit::keeps;
    owner_.keep();
  }
  return a;
}

void guarded_circuit::let_go() noexcept {
  owner_.let_go();
}

acquisition guarded_circuit::ask_and_wait() noexcept {
  const auto place = std::make_shared<meeting>();
  ask([place](acquisition a) { place->bring(std::move(a)); });
  if (auto answer = place->wait_for(circuit_guard::ask_limit))
    return *std::move(answer);
  return refused(std::nullopt);
}

acquisition guarded_circuit::answer_for(const std::optional<admission_verdict>& verdict) noexcept {
  if (!verdict)
    return owner_.gate().closed() ? unavailable() : refused(std::nullopt);
  if (verdict->what == admission_verdict::kind::refused)
    return refused(verdict->wait);
  return grant(verdict->generation, verdict->probe);
}

// A refusal is counted and an event, and costs no message [C11].
circuit_refusal guarded_circuit::refused(std::optional<duration> wait) noexcept {
  cell_.count_refusal();
  const auto& services = owner_.engine().shared();
  const auto& id = cell_.parts();
  services.emit(circuit_refused_event{cell_.id(), id.provider, id.model, id.region, {}, wait, services.wall_clock()});
  return {errc::circuit_open, cell_.id(), wait};
}

circuit_refusal guarded_circuit::unavailable() noexcept {
  return {errc::shutting_down, cell_.id(), std::nullopt};
}

// ---- reports ---------------------------------------------------------------------------------------------------

// The clock is read only where the time decides something: for a failure, a probe, and what is timed. Plain successes
// are dated by the breaker.
void guarded_circuit::report(permit& p, outcome what, const std::optional<duration>& given,
                             const std::optional<duration>& retry_after) noexcept {
  outcome_report r;
  r.generation = p.generation_;
  r.probe = p.probe_;
  r.amends = p.amends_;
  r.retry_after = retry_after;
  if (what == outcome::failure || p.timed_ || p.probe_ != 0)
    r.at = steady_now();
  auto took = given;
  if (!took && p.timed_)
    took = r.at - p.started_;
  if (what == outcome::success && took)
    if (const auto limit = slow_after(); limit && *took > *limit)
      what = outcome::slow_success;
  r.what = what;
  if (took)
    emit_call(what, *took);
  hand_in(r);
}

void guarded_circuit::report_plain_success(const permit& p) noexcept {
  if (const auto receipt = cell_.report_success(p.generation_); receipt.wake || !receipt.queued)
    follow_up(receipt, success_of(p.generation_));
}

// Returns the report's ticket.
std::uint32_t guarded_circuit::hand_in(outcome_report r) noexcept {
  const auto receipt = cell_.report(r);
  if (receipt.wake || !receipt.queued)
    follow_up(receipt, r);
  return receipt.ticket;
}

// Tells the breaker what a receipt asks to tell it.
void guarded_circuit::follow_up(const report_receipt& receipt, outcome_report r) noexcept {
  gate::pass pass{owner_.gate()};
  r.ticket = receipt.ticket;
  if (r.at == time_point{})
    r.at = steady_now();
  if (pass && !receipt.queued)
    access_->send(r);
  else if (pass)
    access_->wake();
}

void guarded_circuit::emit_call(outcome what, duration took) noexcept {
  const auto& id = cell_.parts();
  owner_.engine().shared().emit(call_event{cell_.id(), id.provider, id.model, id.region, what, took});
}

// ---- hanging calls [C17] -----------------------------------------------------------------------------------------

void guarded_circuit::begin_timing(permit& p, watched_call& watched) noexcept {
  p.started_ = steady_now();
  p.timed_ = true;
  if (const auto limit = p.circuit_->slow_after(); limit && p.probe_ == 0) // a probe's lease rules it [C8]
    p.circuit_->watch(p, watched, *limit);
}

void guarded_circuit::watch(permit& p, watched_call& watched, duration limit) noexcept {
  watched.started = p.started_;
  watched.generation = p.generation_;
  p.watched_ = &watched;
  std::lock_guard lock{watch_mutex_};
  watched_.push_back(watched);
  if (!std::exchange(armed_, true))
    arm(watched.started + limit);
}

void guarded_circuit::stop_watching(permit& p) noexcept {
  auto* watched = std::exchange(p.watched_, nullptr);
  std::lock_guard lock{watch_mutex_};
  if (watched->is_linked())
    watched_.erase(watch_list::s_iterator_to(*watched));
  p.amends_ = watched->amends;
}

// One timer for all: it is not cancelled when calls end in time, but looks when it fires whether any is left.
void guarded_circuit::arm(time_point at) {
  gate::pass pass{owner_.gate()};
  if (!pass)
    return;
  auto& threads = owner_.engine().threads();
  boost::asio::post(threads.at(0), [this, at, &context = threads.at(0)] {
    if (!timer_)
      timer_.emplace(context);
    timer_->expires_at(at);
    timer_->async_wait([this](boost::system::error_code failed) {
      if (!failed)
        look_for_hanging();
    });
  });
}

void guarded_circuit::look_for_hanging() {
  std::lock_guard lock{watch_mutex_};
  const auto limit = slow_after();
  if (!limit) { // a reload took the rule away
    watched_.clear();
    armed_ = false;
    return;
  }
  const auto now = steady_now();
  while (!watched_.empty() && watched_.front().started + *limit <= now) {
    auto& call = watched_.front();
    watched_.pop_front();
    outcome_report r;
    r.generation = call.generation;
    r.what = outcome::hanging;
    r.at = now;
    call.amends = hand_in(r) + 1;
  }
  armed_ = !watched_.empty();
  if (armed_)
    arm(watched_.front().started + *limit);
}

} // namespace switchyard::detail
