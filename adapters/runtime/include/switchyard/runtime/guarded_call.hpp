#pragma once

// The composed operation behind circuit_guard::async_guard.

#include "switchyard/runtime/permit.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/intrusive/list_hook.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace switchyard::detail {

class runtime_state;

/// A token that makes an initiating function say its signature instead of starting anything.
struct signature_probe {};
template <class Signature>
struct signature_of {
  using type = Signature;
};

} // namespace switchyard::detail

template <class Signature>
class boost::asio::async_result<switchyard::detail::signature_probe, Signature> {
public:
  using return_type = switchyard::detail::signature_of<Signature>;
  template <class... Arguments>
  static return_type initiate(Arguments&&...) {
    return {};
  }
};

namespace switchyard::detail {

template <class Operation, class Token>
decltype(auto) call_operation(Operation& operation, [[maybe_unused]] permit& p, Token&& token) {
  if constexpr (requires { operation(p, std::forward<Token>(token)); })
    return operation(p, std::forward<Token>(token));
  else
    return operation(std::forward<Token>(token));
}

/// What an operation completes with, e.g. void(error_code, std::size_t).
template <class Operation>
using operation_signature =
    typename decltype(call_operation(std::declval<Operation&>(), std::declval<permit&>(), signature_probe{}))::type;

/// A call that may hang. Lives in the guarded call; in a list of its circuit while it is watched [C17].
struct watched_call : boost::intrusive::list_base_hook<> {
  time_point started{};
  std::uint32_t generation = 0;
  std::uint32_t amends = 0; ///< ticket of its hanging report plus 1
};

// What needs no type, in guard.cpp.

/// An answer, or nothing when only the breaker can tell.
std::optional<acquisition> acquire_now(guarded_circuit& circuit) noexcept;
/// Asks the breaker; `on_answer` is called once, on a thread that must not run users' code, or at once on failure.
void ask_breaker(const std::shared_ptr<runtime_state>& owner, guarded_circuit& circuit,
                 std::function<void(acquisition)> on_answer);
/// From here on the permit's call is timed, and watched for hanging where the profile asks for it.
void begin_timing(permit& p, watched_call& watched) noexcept;
/// Reports what an error says.
void report_error(permit& p, const boost::system::error_code& error) noexcept;
void report_error(permit& p, const std::exception_ptr& error) noexcept;

inline boost::system::error_code as_error(boost::system::error_code e, const boost::system::error_code*) {
  return e;
}
inline std::exception_ptr as_error(boost::system::error_code e, const std::exception_ptr*) {
  return std::make_exception_ptr(boost::system::system_error{e});
}

template <class Signature, class Operation, class Handler>
class guarded_call;

/// What the operation completes with: passes the results on. Executor, allocator and slot are the handler's.
template <class Call>
struct guarded_handler {
  std::shared_ptr<Call> call;

  template <class... Results>
  void operator()(Results&&... results) {
    std::exchange(call, nullptr)->finished(std::forward<Results>(results)...);
  }
};

template <class Operation, class Handler, class Error, class... Results>
class guarded_call<void(Error, Results...), Operation, Handler>
    : public std::enable_shared_from_this<guarded_call<void(Error, Results...), Operation, Handler>> {
  using error_type = std::remove_cvref_t<Error>;
  static_assert(std::is_same_v<error_type, boost::system::error_code> || std::is_same_v<error_type, std::exception_ptr>,
                "async_guard: the operation's handler must take an error_code or an exception_ptr first");

public:
  guarded_call(std::shared_ptr<runtime_state> owner, guarded_circuit* circuit, Operation&& operation, Handler&& handler)
      : owner_(std::move(owner)),
        circuit_(circuit),
        operation_(std::move(operation)),
        handler_(std::move(handler)),
        work_(boost::asio::get_associated_executor(handler_)) {}

  const Handler& handler() const noexcept { return handler_; }

  void start() {
    if (!circuit_)
      return refuse(errc::shutting_down);
    if (auto answer = acquire_now(*circuit_)) {
      if (*answer)
        return call(std::move(**answer));
      return refuse(answer->error());
    }
    watch_slot();
    ask_breaker(owner_, *circuit_, [self = this->shared_from_this()](acquisition answer) {
      auto& ex = self->work_;
      boost::asio::post(ex.get_executor(),
                        [self, answer = std::move(answer)]() mutable { self->answered(std::move(answer)); });
    });
  }

  template <class... Given>
  void finished(Given&&... given) {
    judge(given...);
    work_.reset();
    auto handler = std::move(handler_);
    std::move(handler)(std::forward<Given>(given)...);
  }

private:
  // While the breaker is asked there is nothing to cancel yet: remembered, on the handler's executor.
  void watch_slot() {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected())
      slot.assign([weak = this->weak_from_this()](boost::asio::cancellation_type type) {
        if (const auto self = weak.lock(); self && type != boost::asio::cancellation_type::none)
          self->cancelled_ = true;
      });
  }

  void answered(acquisition answer) {
    if (auto slot = boost::asio::get_associated_cancellation_slot(handler_); slot.is_connected())
      slot.clear();
    if (cancelled_) {
      {
        const auto given_back = std::move(answer);
      } // the permit goes before the handler runs, which may guard again [C16]
      return end(boost::asio::error::operation_aborted);
    }
    if (!answer)
      return end(answer.error());
    call(std::move(*answer));
  }

  void call(permit granted) {
    permit_.emplace(std::move(granted));
    begin_timing(*permit_, watched_);
    auto operation = std::move(operation_);
    call_operation(operation, *permit_, guarded_handler<guarded_call>{this->shared_from_this()});
  }

  template <class... Rest>
  void judge(const error_type& error, const Rest&...) noexcept {
    if (*permit_)
      report_error(*permit_, error);
  }

  // Within the initiating function.
  void refuse(boost::system::error_code why) {
    boost::asio::post(work_.get_executor(), [self = this->shared_from_this(), why] { self->end(why); });
  }

  void end(boost::system::error_code why) {
    work_.reset();
    auto handler = std::move(handler_);
    std::move(handler)(as_error(why, static_cast<const error_type*>(nullptr)), std::decay_t<Results>{}...);
  }

  std::shared_ptr<runtime_state> owner_;
  guarded_circuit* circuit_;
  Operation operation_;
  Handler handler_;
  boost::asio::executor_work_guard<boost::asio::associated_executor_t<Handler>> work_;
  watched_call watched_;
  std::optional<permit> permit_; ///< goes before `watched_`
  bool cancelled_ = false;
};

template <class Signature, class Operation, class Handler>
void start_guarded_call(std::shared_ptr<runtime_state> owner, guarded_circuit* circuit, Operation operation,
                        Handler handler) {
  std::make_shared<guarded_call<Signature, Operation, Handler>>(std::move(owner), circuit, std::move(operation),
                                                                std::move(handler))
      ->start();
}

} // namespace switchyard::detail

template <template <class, class> class Associator, class Signature, class Operation, class Handler, class Default>
struct boost::asio::associator<
    Associator, switchyard::detail::guarded_handler<switchyard::detail::guarded_call<Signature, Operation, Handler>>,
    Default> : Associator<Handler, Default> {
  using guarded = switchyard::detail::guarded_handler<switchyard::detail::guarded_call<Signature, Operation, Handler>>;

  static typename Associator<Handler, Default>::type get(const guarded& h) noexcept {
    return Associator<Handler, Default>::get(h.call->handler());
  }
  static auto get(const guarded& h, const Default& d) noexcept
      -> decltype(Associator<Handler, Default>::get(h.call->handler(), d)) {
    return Associator<Handler, Default>::get(h.call->handler(), d);
  }
};
