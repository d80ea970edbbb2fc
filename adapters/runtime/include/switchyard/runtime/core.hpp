#pragma once

// The assembled engine: configuration, actors, stores, HTTP client and event fan-out, behind one object without CAF
// or Beast in sight. The embedding API (runtime.hpp) and the gateway are built on it.

#include "switchyard/actors/provider.hpp"
#include "switchyard/actors/services.hpp"
#include "switchyard/engine/budget.hpp"
#include "switchyard/engine/cache_control.hpp"
#include "switchyard/engine/error_code.hpp"
#include "switchyard/engine/events.hpp"
#include "switchyard/engine/settings.hpp"
#include "switchyard/openai/body.hpp"

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

namespace http {
class io_threads; // switchyard/http/io_threads.hpp
}

// What an embedding program seldom needs stands in switchyard/actors/stores.hpp, messages.hpp and request_result.hpp:
// they are large.
class answer_store;
class budget_store;
class circuit_cell;
class telemetry_log;
struct change_circuit;
struct circuit_description;
struct provider_health;
struct request_result;
struct query_usage;
struct telemetry_answer;
struct usage_answer;
struct telemetry_query;

/// Why a runtime could not start, or not take another configuration.
struct start_error {
  enum class kind : std::uint8_t {
    configuration, ///< the configuration is not valid
    store,         ///< the data directory: locked, not writable, corrupt
    provider,      ///< a provider's URL or CA file cannot be used
  } what = kind::configuration;
  std::string message; ///< one line for each problem
};

/// For `value()` of a result: throws std::runtime_error with the message.
[[noreturn]] void throw_exception_from_error(const start_error& error, const boost::source_location& where);

struct core_options {
  std::size_t io_threads = 0;    ///< 0: one per processor
  std::size_t actor_threads = 0; ///< 0: one per processor, at least 2
  std::size_t idempotency_shards = 4;
  /// Where log lines go; may be empty. Called on a thread of its own, for one line after the other, behind a queue of
  /// `core::log_queue` lines, so it delays nothing [C15]: when it is full, lines are dropped, and a line says how many.
  /// What it throws is ignored.
  log_callback log;
  /// Providers of the program's own, by name; the others are called over HTTP. Their listeners may be called on any
  /// thread.
  std::map<std::string, std::shared_ptr<provider>> providers;
  /// Stores of the program's own; where null RocksDB in `config.telemetry.path` serves.
  std::shared_ptr<telemetry_log> telemetry;
  std::shared_ptr<answer_store> answers;
  std::shared_ptr<budget_store> budgets;
  /// Without a data directory: telemetry is not written, answers of idempotency keys are kept in memory only.
  bool in_memory = false;
};

/// A request for `core::submit`: already looked at.
struct submission {
  std::string request_id; ///< empty: one is made
  std::string tenant;
  std::string route;     ///< as the caller wrote it
  std::string operation; ///< path, for telemetry and the key's scope, e.g. "/v1/chat/completions"
  std::string path;      ///< below the provider's base URL, e.g. "/chat/completions"
  std::shared_ptr<const std::string> body;
  openai::request_view view;                  ///< of the body
  std::shared_ptr<const header_list> headers; ///< to pass on; may be null
  std::optional<std::string> idempotency_key; ///< must be valid
  std::optional<duration> idempotency_ttl;    ///< instead of the configured one
  std::optional<duration> timeout;
  bool fallback = true;
  cache_directives cache{};                    ///< with a cache [U3]
  std::shared_ptr<stream_receiver> receiver{}; ///< where a stream goes; null where the body asks for none
};

/// A request under way. Thread-safe.
class request_handle {
public:
  virtual ~request_handle() = default;
  /// The caller leaves: an unkeyed request is cancelled upstream, a keyed leader runs on [I7]. The callback is still
  /// called, with errc::cancelled where the request ended by it.
  virtual void cancel() = 0;
};

/// Why the admin plane has no answer.
struct admin_error {
  /// not_found: there is no such circuit. overloaded: who knows did not answer in time. shutting_down.
  errc code = errc::overloaded;
  std::string message; ///< for a person
};

[[noreturn]] void throw_exception_from_error(const admin_error& error, const boost::source_location& where);

template <class T>
using admin_result = boost::system::result<T, admin_error>;

class core {
public:
  /// How many events may wait for one observer, and how many lines for the log.
  static constexpr std::size_t observer_queue = 4096;
  static constexpr std::size_t log_queue = 1024;
  /// How long the end of an observer, of the log, or of all of them together waits for them.
  static constexpr std::chrono::seconds observer_patience{2};

  /// Validates the configuration, opens the stores, starts threads and actors. On failure nothing is left running and
  /// data files are untouched.
  static boost::system::result<std::shared_ptr<core>, start_error> start(config c, core_options options = {});

  /// What a start would say of a valid configuration's providers, all of it, without starting anything: CA files are
  /// loaded, headers made. Nothing when there is nothing to say.
  static std::optional<start_error> check(const config& c);

  virtual ~core() = default; ///< like `stop` without grace, also on a thread of its own

  /// The configuration in use; stays as it is when a reload brings another.
  virtual std::shared_ptr<const config> settings() const = 0;

  /// Takes another configuration into use, whole or, with an error, not at all. Requests under way end under the one
  /// they began with. A circuit whose settings are the same keeps its state, one with other settings begins anew,
  /// closed; both keep an operator's mode. Connections, slots and charged budgets of what stays are kept. What cannot
  /// change in a running program is an error that says so: the data directory, its cache, retention and durability, and
  /// the cluster. Blocks, for as long as files are read and actors answer; not to be called on a thread of this core.
  virtual boost::system::result<void, start_error> reload(config c) = 0;
  virtual http::io_threads& threads() noexcept = 0;

  /// A request id that is not in use.
  virtual std::string new_request_id() = 0;

  /// Submits a request. `on_done` is called once, on one of the I/O threads: the calling one when it is an I/O thread;
  /// possibly before `submit` returns, on the calling thread, as for what is refused at once: with shutting_down, or
  /// with overloaded while `gateway.max_in_flight` requests are under way. Null when the route is unknown or inactive
  /// (then `on_done` is not called).
  virtual std::shared_ptr<request_handle>
  submit(submission s, std::function<void(std::shared_ptr<const request_result>)> on_done) = 0;

  /// Requests under way.
  virtual std::size_t in_flight() const noexcept = 0;

  /// Names of the active routes, in the configuration's order and spelling.
  virtual std::vector<std::string> active_routes() const = 0;

  // The admin plane. Each callback is called once, on any thread, within a few seconds.
  virtual void list_circuits(std::function<void(admin_result<std::vector<circuit_description>>)> on_done) = 0;
  virtual void change_circuit(change_circuit change, std::function<void(admin_result<void>)> on_done) = 0;
  virtual void describe_health(std::function<void(admin_result<std::vector<provider_health>>)> on_done) = 0;
  /// Every ledger that has a window, by budget and tenant [U1].
  virtual void describe_budgets(std::function<void(admin_result<std::vector<budget_figures>>)> on_done) = 0;
  virtual void query_telemetry(telemetry_query query, std::function<void(telemetry_answer)> on_done) = 0;
  virtual void query_usage(switchyard::query_usage query, std::function<void(usage_answer)> on_done) = 0;
  /// Prometheus text exposition.
  virtual std::string metrics_text() = 0;

  /// Wall time of a point on the monotonic clock.
  virtual wall_time to_wall(time_point t) const = 0;

  /// Adds an observer. It is called for one event after the other on a thread of its own, behind a queue of
  /// `observer_queue` events, so however slow it is it delays neither a call nor another observer [C15]. When the queue
  /// is full it misses what happens, which is logged: at the first event, and how many it were at its end. An event and
  /// all that it shows is valid for the length of the call.
  ///
  /// Keep the returned token: its end ends the observation, and what is queued is discarded. It waits for a call that
  /// is running, so when it returns the observer is called no more; let it go under no lock that the observer takes.
  /// Two exceptions: on the observer's own thread, thus from within it, nothing is waited for; and an observer that is
  /// stuck for longer than `observer_patience` is left alone, kept alive until that call returns. An observer that was
  /// added twice is called twice until one of the tokens goes.
  virtual std::shared_ptr<void> observe(std::shared_ptr<event_sink> observer) = 0;

  /// From now on new submits end with shutting_down. Waits until the running requests have ended, at most `grace`, then
  /// cuts the rest, writes what is queued, closes the stores, and stops threads and actors. Observers and the log are
  /// given what is queued for them, within `observer_patience`. Blocks until all that is done, also when somebody else
  /// has begun it. On a thread of this core it cannot wait for itself: there it refuses what is new, leaves the rest to
  /// another thread and returns.
  virtual void stop(duration grace) = 0;
  /// Whether the calling thread is one of this core's: of I/O, of its actors, of an observer, of the log.
  virtual bool on_own_thread() const noexcept = 0;
  /// The first half of `stop`: no new requests.
  virtual void refuse_new() noexcept = 0;

  // What guards build on (guard.hpp).
  struct circuit_access {
    std::shared_ptr<void> keep_alive;
    circuit_cell* cell = nullptr;
    /// A success that takes longer, in nanoseconds, is slow [C1]; negative without such a rule. A reload may change it.
    const std::atomic<duration::rep>* slow_after = nullptr;
    /// Tells the breaker that reports wait.
    std::function<void()> wake;
    /// Hands a report to the breaker whose queue is full.
    std::function<void(outcome_report)> send;
    /// Asks the breaker; the callback is called once, on any thread; nothing when it could not be reached.
    std::function<void(std::function<void(std::optional<admission_verdict>)>)> ask;
  };
  /// The circuit of that id; made from the profile of that name if it is not there. Null when there is no such profile,
  /// and after `stop`.
  virtual std::shared_ptr<const circuit_access> circuit(const std::string& id,
                                                        const std::string& profile = "default") = 0;

  virtual const services& shared() const noexcept = 0;
};

} // namespace switchyard
