#pragma once

// The assembled engine: configuration, actors, stores, HTTP client and event fan-out, behind one object without CAF
// or Beast in sight. The embedding API (runtime.hpp) and the gateway are built on it.

#include "switchyard/actors/messages.hpp"
#include "switchyard/actors/provider.hpp"
#include "switchyard/actors/request_result.hpp"
#include "switchyard/actors/services.hpp"
#include "switchyard/actors/stores.hpp"
#include "switchyard/engine/events.hpp"
#include "switchyard/engine/settings.hpp"
#include "switchyard/http/io_threads.hpp"
#include "switchyard/openai/body.hpp"

#include <boost/system/result.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

/// Why a runtime could not start.
struct start_error {
  enum class kind : std::uint8_t {
    configuration, ///< the configuration is not valid
    store,         ///< the data directory: locked, not writable, corrupt
    provider,      ///< a provider's URL or CA file cannot be used
  } what = kind::configuration;
  std::string message; ///< one line for each problem
};

struct core_options {
  std::size_t io_threads = 0;    ///< 0: one per processor
  std::size_t actor_threads = 0; ///< 0: one per processor, at least 2
  std::size_t idempotency_shards = 4;
  log_callback log = [](log_level, std::string_view) {};
  /// Providers of the program's own, by name; the others are called over HTTP.
  std::map<std::string, std::shared_ptr<provider>> providers;
  /// Stores of the program's own; where null RocksDB in `config.telemetry.path` serves.
  std::shared_ptr<telemetry_log> telemetry;
  std::shared_ptr<answer_store> answers;
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
};

/// A request under way. Thread-safe.
class request_handle {
public:
  virtual ~request_handle() = default;
  /// The caller leaves: an unkeyed request is cancelled upstream, a keyed leader runs on [I7]. The callback is still
  /// called, with errc::cancelled where the request ended by it.
  virtual void cancel() = 0;
};

class core {
public:
  /// Validates the configuration, opens the stores, starts threads and actors. On failure nothing is left running and
  /// data files are untouched.
  static boost::system::result<std::shared_ptr<core>, start_error> start(config c, core_options options = {});

  virtual ~core() = default; ///< like `stop` without grace

  virtual const config& settings() const noexcept = 0;
  virtual http::io_threads& threads() noexcept = 0;

  /// A request id that is not in use.
  virtual std::string new_request_id() = 0;

  /// Submits a request. `on_done` is called once, on one of the I/O threads: the calling one when it is an I/O thread;
  /// possibly before `submit` returns. Null when the route is unknown or inactive (then `on_done` is not called).
  virtual std::shared_ptr<request_handle>
  submit(submission s, std::function<void(std::shared_ptr<const request_result>)> on_done) = 0;

  /// Requests under way.
  virtual std::size_t in_flight() const noexcept = 0;

  /// Names of the active routes, in the configuration's order and spelling.
  virtual std::vector<std::string> active_routes() const = 0;

  // The admin plane. Each callback is called once, on any thread, within a few seconds.
  virtual void list_circuits(std::function<void(std::vector<circuit_description>)> on_done) = 0;
  virtual void change_circuit(change_circuit change, std::function<void(bool found)> on_done) = 0;
  virtual void describe_health(std::function<void(std::vector<provider_health>)> on_done) = 0;
  virtual void query_telemetry(telemetry_query query, std::function<void(telemetry_answer)> on_done) = 0;
  /// Prometheus text exposition.
  virtual std::string metrics_text() = 0;

  /// Wall time of a point on the monotonic clock.
  virtual wall_time to_wall(time_point t) const = 0;

  /// Adds an observer, which is called on the thread where an event happens and must be quick. Keep the returned token:
  /// its end ends the observation (a call may then still be running on another thread; the observer itself is kept
  /// alive for it).
  virtual std::shared_ptr<void> observe(std::shared_ptr<event_sink> observer) = 0;

  /// From now on new submits end with shutting_down. Waits until the running requests have ended, at most `grace`, then
  /// cuts the rest, writes what is queued, and stops threads and actors. Blocks; not from an I/O thread. Idempotent.
  virtual void stop(duration grace) = 0;
  /// The first half of `stop`: no new requests.
  virtual void refuse_new() noexcept = 0;

  // What guards build on (guard.hpp).
  struct circuit_access {
    std::shared_ptr<void> keep_alive;
    circuit_cell* cell = nullptr;
    const circuit_settings* settings = nullptr;
    /// Tells the breaker that reports wait.
    std::function<void()> wake;
    /// Hands a report to the breaker whose queue is full.
    std::function<void(outcome_report)> send;
    /// Asks the breaker; the callback is called once, on any thread; nothing when it could not be reached.
    std::function<void(std::function<void(std::optional<admission_verdict>)>)> ask;
  };
  /// The circuit of that id; made from the profile of that name if it is not there. Null when there is no such profile.
  virtual std::shared_ptr<const circuit_access> circuit(const std::string& id,
                                                        const std::string& profile = "default") = 0;

  virtual const services& shared() const noexcept = 0;
};

} // namespace switchyard
