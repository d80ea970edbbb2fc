#pragma once

// What an embedding program includes: a runtime made from a configuration, requests submitted with any Asio completion
// token, and circuits to guard operations of the program's own.
//
//   auto config = switchyard::load_config("switchyard.json").value();  // switchyard/json/load_config.hpp
//   auto runtime = switchyard::runtime::start(std::move(config)).value();
//   auto result = co_await runtime.async_submit({"chat", R"({"messages": [...]})"}, use_awaitable);
//   if (result)
//     use(result->body);
//   else
//     log(result.error().message);

#include "switchyard/actors/stream.hpp"
#include "switchyard/asio/completion.hpp"
#include "switchyard/runtime/core.hpp"
#include "switchyard/runtime/guard.hpp"
#include "switchyard/runtime/request.hpp"

#include <boost/asio/async_result.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace switchyard {

namespace detail {
/// `sink` is null but for a stream.
void submit(const std::shared_ptr<runtime_state>& state, request r, std::shared_ptr<stream_receiver> sink,
            const std::shared_ptr<completion<submit_result>>& done);
} // namespace detail

/// The engine at work: threads, actors, stores and connections of one configuration. Movable; its functions are
/// thread-safe but for moving, `stop` and destruction, which belong to the owner.
class runtime {
public:
  /// Validates the configuration, opens the data directory, and starts. On failure nothing is left running. A provider,
  /// a store or a log of the program's own goes into the options. A program that only guards operations of its own
  /// needs neither providers nor routes.
  static boost::system::result<runtime, start_error> start(config settings, core_options options = {});

  runtime(runtime&&) noexcept = default;
  /// Stops the one that was held, without grace.
  runtime& operator=(runtime&& other) noexcept;
  /// Stops without grace: see `stop`.
  ~runtime();

  /// Submits a request. Completes with a `submit_result`: `void(submit_result)`.
  ///
  /// The handler is called exactly once, through its associated executor, which has work until then, and never from
  /// within this function. A handler without an executor runs on one of the runtime's I/O threads and must be quick
  /// there, or on one of Asio's system threads. Cancellation (terminal or partial) cancels the request: it ends at once
  /// with `errc::cancelled`, also when one that has a key or fills the cache, for the sake of its retry and those who
  /// joined it, runs on unseen [I7, U3]. While `gateway.max_in_flight` requests are under way it ends at once with
  /// `errc::overloaded`.
  template <boost::asio::completion_token_for<void(submit_result)> Token>
  auto async_submit(request r, Token&& token) {
    return boost::asio::async_initiate<Token, void(submit_result)>(
        [](auto handler, const std::shared_ptr<detail::runtime_state>& state, request submitted) {
          detail::submit(state, std::move(submitted), nullptr, make_completion<submit_result>(std::move(handler)));
        },
        token, state_, std::move(r));
  }

  /// Submits a request for a stream (its body has `"stream": true`), which flows to `sink` from its first content on:
  /// see stream_receiver, and make_sink in runtime/stream.hpp for one made of a coroutine. Until then another route may
  /// take over; after it none does, and what breaks the stream is the error: upstream_cut, upstream_stalled or
  /// upstream_invalid, with `streamed` set [S1, S2]. Completes as `async_submit` does, when the sink is done with the
  /// last piece that it was given, however the request ends; the sink is called no more then. A provider that answers
  /// as a whole, or an error, has that as its result and calls the sink not at all. Cancellation ends the stream at the
  /// provider [S4], also a keyed one [I9].
  template <boost::asio::completion_token_for<void(submit_result)> Token>
  auto async_stream(request r, std::shared_ptr<stream_receiver> sink, Token&& token) {
    return boost::asio::async_initiate<Token, void(submit_result)>(
        [](auto handler, const std::shared_ptr<detail::runtime_state>& state, request submitted,
           std::shared_ptr<stream_receiver> to) {
          detail::submit(state, std::move(submitted), std::move(to),
                         make_completion<submit_result>(std::move(handler)));
        },
        token, state_, std::move(r), std::move(sink));
  }

  /// The circuit of that id: one of a provider, or one that is made now from a profile of the configuration. Making one
  /// waits for its breaker to start, some tens of microseconds. Throws std::invalid_argument when there is no such
  /// profile; the profile "default" is always there. A circuit that exists keeps the profile it has. After `stop`
  /// the guard refuses everything.
  circuit_guard circuit(const std::string& id, const std::string& profile = "default");

  /// Takes another configuration into use, whole or, with an error that has every reason, not at all. Requests under
  /// way end under the one they began with; a circuit whose settings are the same keeps its state, one with other
  /// settings begins anew; circuits of guards follow their profile. What cannot change in a running program is an
  /// error. Blocks while files are read and actors answer; an error on a thread of the runtime itself.
  boost::system::result<void, start_error> reload(config settings);

  /// Ends the runtime: new submits end with `errc::shutting_down`; running ones have `grace` to end, then they end with
  /// that error too; what is queued for the disk is written, the stores are closed, threads and actors end; observers
  /// and the log are given what is queued for them, within `core::observer_patience`. When it returns every handler was
  /// called or handed to its executor. Blocks until then, also when it was called before.
  ///
  /// On a thread of the runtime itself, as in a handler that has no executor of its own, in an observer or in the log
  /// callback, it cannot wait for itself: there it refuses what is new from now on, leaves the rest to another thread
  /// and returns. So does the destructor.
  void stop(duration grace);

  /// Requests under way.
  std::size_t in_flight() const noexcept;
  /// Names of the active routes, in the configuration's order and spelling.
  std::vector<std::string> active_routes() const;
  /// Prometheus text exposition.
  std::string metrics_text() const;
  /// Shows every event to an observer, on a thread of its own, until the returned token is gone: see `core::observe`.
  std::shared_ptr<void> observe(std::shared_ptr<event_sink> observer);

  /// The assembled engine, for what the embedding API does not show; stopped with this runtime.
  core& engine() const noexcept;

private:
  explicit runtime(std::shared_ptr<detail::runtime_state> state) noexcept : state_(std::move(state)) {}

  std::shared_ptr<detail::runtime_state> state_; ///< null once moved from
};

} // namespace switchyard
