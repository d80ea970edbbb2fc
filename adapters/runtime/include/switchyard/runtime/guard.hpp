#pragma once

// Guards anything that may fail with a circuit: no HTTP, no route, no provider needed.
//
//   auto payments = runtime.circuit("payments");
//
//   if (auto permit = payments.try_acquire())          // a synchronous call
//     call() ? permit->success() : permit->failure();
//
//   co_await payments.async_guard(                     // an Asio operation
//       [&](auto token) { return socket.async_connect(endpoint, std::move(token)); }, use_awaitable);

#include "switchyard/asio/completion.hpp"
#include "switchyard/engine/circuit.hpp"
#include "switchyard/runtime/guarded_call.hpp"
#include "switchyard/runtime/permit.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/consign.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace switchyard {

/// A circuit as a program holds it; get one from `runtime::circuit`. Cheap to copy, thread-safe. It keeps what its
/// permits need alive, but not the runtime running: once that has stopped, nothing is counted any more, and where a
/// breaker would have to be asked the refusal says shutting_down.
class circuit_guard {
public:
  /// Refuses everything with shutting_down.
  circuit_guard() = default;

  /// Asks for leave to make one call.
  ///
  /// Closed: a few nanoseconds, no allocation, no lock, no message; open: the same, plus a clock read and the event
  /// [C11]. Only when a probe is due or pending outcomes may have tripped the circuit does it ask the breaker and wait
  /// for the answer: tens of microseconds, at most `ask_limit`, after which it refuses. So it may be called on any
  /// thread that may be held for so long, but not within a CAF actor. A profile with a slow-call rule costs a clock
  /// read more. What the permit must not outlive, and that nobody watches whether its call hangs: see permit.hpp.
  acquisition try_acquire() const noexcept;

  /// The longest that `try_acquire` waits.
  static constexpr std::chrono::milliseconds ask_limit{500};

  /// The same without waiting: completes with an `acquisition`. Not cancellable: it takes microseconds. The handler
  /// may be called, and a permit kept, after the end of the runtime and of all its guards.
  template <boost::asio::completion_token_for<void(acquisition)> Token>
  auto async_acquire(Token&& token) const {
    auto keeping = boost::asio::consign(std::forward<Token>(token), *this); // a refusal shows the circuit's id
    return boost::asio::async_initiate<decltype(keeping), void(acquisition)>(
        [](auto handler, const circuit_guard& circuit) {
          circuit.acquire(make_completion<acquisition>(std::move(handler)));
        },
        keeping, *this);
  }

  /// Makes one asynchronous call under a permit.
  ///
  /// `operation` starts it: called as `operation(token)` or `operation(permit&, token)`, it passes the token on to
  /// an Asio initiating function whose handler's first parameter is an error_code or an exception_ptr. `async_guard`
  /// completes with the same signature and results as that. When the circuit refuses, the operation is not called, and
  /// the handler gets `errc::circuit_open` (or shutting_down) and default-constructed results.
  ///
  /// No error is a success; operation_aborted counts as nothing; so does an error of Switchyard's own that does not
  /// trip; any other error is a failure. An operation that knows better reports to its permit before it completes.
  /// A success slower than `slow_call_after` is slow, and a call in flight for longer counts as slow at that moment
  /// [C17].
  ///
  /// The operation inherits the token's executor, allocator and cancellation slot; it runs within the initiating
  /// function, or on the handler's executor if the breaker had to be asked first.
  template <class Operation, class Token>
  auto async_guard(Operation operation, Token&& token) const {
    using signature = detail::operation_signature<Operation>;
    return boost::asio::async_initiate<Token, signature>(
        [](auto handler, const circuit_guard& circuit, Operation op) {
          detail::start_guarded_call<signature>(circuit.owner_, circuit.circuit_, std::move(op), std::move(handler));
        },
        token, *this, std::move(operation));
  }

  /// The circuit's id; empty for a default-constructed one.
  std::string_view id() const noexcept;

  /// The published state and how long an open circuit will go on refusing, if known. For people and dashboards: what
  /// counts for a call is `try_acquire`.
  circuit_state state() const noexcept;
  std::optional<duration> retry_after() const noexcept;

  /// Second reports of permits of this circuit so far [C9].
  std::uint64_t refused_reports() const noexcept;

private:
  friend class runtime;

  circuit_guard(std::shared_ptr<detail::runtime_state> owner, detail::guarded_circuit& circuit) noexcept
      : owner_(std::move(owner)), circuit_(&circuit) {}

  void acquire(std::shared_ptr<completion<acquisition>> done) const;

  std::shared_ptr<detail::runtime_state> owner_;
  detail::guarded_circuit* circuit_ = nullptr; ///< belongs to `owner_`
};

} // namespace switchyard
