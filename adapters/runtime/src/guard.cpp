#include "switchyard/runtime/guard.hpp"

#include "guarded_circuit.hpp"
#include "runtime_state.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <boost/throw_exception.hpp>

#include <exception>
#include <string>
#include <utility>

namespace switchyard {

// ---- permit ----------------------------------------------------------------------------------------------------

// Whether the report about to be made is the first [C9].
bool permit::take() noexcept {
  if (!circuit_)
    return false;
  if ((flags_ & reported) != 0) {
    circuit_->count_refused_report();
    return false;
  }
  flags_ |= reported;
  if (watched_)
    stop_watching();
  return true;
}

void permit::stop_watching() noexcept {
  circuit_->stop_watching(*this);
}

void permit::let_go() noexcept {
  if ((flags_ & reported) == 0)
    cancel();
  if ((flags_ & keeps) != 0)
    circuit_->let_go(); // its end, perhaps
}

bool permit::success() noexcept {
  if (!take())
    return false;
  if (!timed_ && probe_ == 0 && amends_ == 0)
    circuit_->report_plain_success(*this);
  else
    circuit_->report(*this, outcome::success, std::nullopt, std::nullopt);
  return true;
}

bool permit::success(std::optional<duration> took) noexcept {
  if (!take())
    return false;
  circuit_->report(*this, outcome::success, took, std::nullopt);
  return true;
}

bool permit::failure(std::optional<duration> retry_after) noexcept {
  if (!take())
    return false;
  circuit_->report(*this, outcome::failure, std::nullopt, retry_after);
  return true;
}

bool permit::failure(failure_class why, std::optional<duration> retry_after) noexcept {
  if (traits(why).trips)
    return failure(retry_after);
  return why == failure_class::cancelled ? cancel() : neutral();
}

bool permit::neutral() noexcept {
  if (!take())
    return false;
  circuit_->report(*this, outcome::neutral, std::nullopt, std::nullopt);
  return true;
}

bool permit::cancel() noexcept {
  if (!take())
    return false;
  circuit_->report(*this, outcome::cancelled, std::nullopt, std::nullopt);
  return true;
}

void throw_exception_from_error(const circuit_refusal& refusal, const boost::source_location& where) {
  boost::throw_with_location(
      boost::system::system_error{make_error_code(refusal.code), "circuit " + std::string{refusal.circuit}}, where);
}

// ---- circuit_guard -----------------------------------------------------------------------------------------------

namespace {

circuit_refusal no_circuit() noexcept {
  return {errc::shutting_down, {}, std::nullopt};
}

} // namespace

acquisition circuit_guard::try_acquire() const noexcept {
  if (!circuit_)
    return no_circuit();
  return circuit_->acquire();
}

void circuit_guard::acquire(std::shared_ptr<completion<acquisition>> done) const {
  if (!circuit_)
    done->complete(no_circuit());
  else if (auto answer = circuit_->try_now())
    done->complete(circuit_->keeping(*std::move(answer)));
  else
    detail::ask_breaker(owner_, *circuit_,
                        [done, circuit = circuit_](acquisition a) { done->post(circuit->keeping(std::move(a))); });
  done->initiated();
}

std::string_view circuit_guard::id() const noexcept {
  return circuit_ ? std::string_view{circuit_->cell().id()} : std::string_view{};
}

circuit_state circuit_guard::state() const noexcept {
  return circuit_ ? circuit_->cell().state() : circuit_state::closed;
}

std::optional<duration> circuit_guard::retry_after() const noexcept {
  if (!circuit_)
    return std::nullopt;
  return circuit_->cell().try_admit(std::chrono::steady_clock::now()).wait;
}

std::uint64_t circuit_guard::refused_reports() const noexcept {
  return circuit_ ? circuit_->refused_reports() : 0;
}

// ---- guarded calls -----------------------------------------------------------------------------------------------

namespace detail {

std::optional<acquisition> acquire_now(guarded_circuit& circuit) noexcept {
  return circuit.try_now();
}

void ask_breaker(const std::shared_ptr<runtime_state>& owner, guarded_circuit& circuit,
                 std::function<void(acquisition)> on_answer) {
  circuit.ask([owner, on_answer = std::move(on_answer)](acquisition a) { on_answer(std::move(a)); });
}

void begin_timing(permit& p, watched_call& watched) noexcept {
  guarded_circuit::begin_timing(p, watched);
}

namespace {

void report_own_error(permit& p, errc e) noexcept {
  switch (e) {
  case errc::upstream_connection:
  case errc::upstream_invalid:
  case errc::upstream_timeout:
  case errc::upstream_cut:
  case errc::upstream_stalled:
  case errc::upstream_error:
  case errc::request_timeout:
    p.failure();
    return;
  case errc::cancelled:
    p.cancel();
    return;
  default:
    p.neutral();
  }
}

} // namespace

void report_error(permit& p, const boost::system::error_code& error) noexcept {
  if (!error)
    p.success();
  else if (error == boost::asio::error::operation_aborted)
    p.cancel();
  else if (error.category() == category())
    report_own_error(p, static_cast<errc>(error.value()));
  else
    p.failure();
}

void report_error(permit& p, const std::exception_ptr& error) noexcept {
  if (!error)
    return report_error(p, boost::system::error_code{});
  try {
    std::rethrow_exception(error);
  } catch (const boost::system::system_error& e) {
    report_error(p, e.code());
  } catch (...) {
    p.failure();
  }
}

} // namespace detail

} // namespace switchyard
