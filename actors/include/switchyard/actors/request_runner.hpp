#pragma once

// Executes a request flow's actions. A runner belongs to one owner at a time: the caller's executor, as long as nobody
// has to be asked, then a request actor. Both feed it and do what it asks for.

#include "switchyard/actors/actor_slot.hpp"
#include "switchyard/actors/idempotency.hpp"
#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/mailbox_credit.hpp"
#include "switchyard/actors/problem_log.hpp"
#include "switchyard/actors/request_result.hpp"
#include "switchyard/actors/services.hpp"
#include "switchyard/actors/telemetry.hpp"
#include "switchyard/actors/topology.hpp"
#include "switchyard/engine/request_flow.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace switchyard {

/// The idempotency key of a request.
struct request_key {
  std::string scope; ///< idempotency_scope::str()
  payload_fingerprint fingerprint{};
  duration ttl{};
  idempotency_settings::concurrent_mode concurrent = idempotency_settings::concurrent_mode::join;
  idempotency_settings::interrupted_mode on_interrupted = idempotency_settings::interrupted_mode::rerun;
};

/// A request's place in the cache [U3].
struct request_cache {
  cache_place place;
  cache_directives wish;
};

/// A request to run.
struct request_spec {
  std::shared_ptr<const topology> where; ///< what `flow.chain` points into
  flow_request flow;
  std::string path; ///< below the provider's base URL
  /// The body for a provider's model; called for each attempt.
  std::function<std::shared_ptr<const std::string>(std::string_view model)> body_for;
  std::shared_ptr<const header_list> headers; ///< to pass on; may be null
  bool stream = false;
  std::shared_ptr<stream_receiver> receiver; ///< of a stream; without one the answer is taken as a whole
  std::optional<request_key> key;
  std::optional<request_cache> cache;  ///< with flow.cacheable
  std::optional<budget_amount> budget; ///< the estimate, with flow.budgeted
};

/// Receives the result, once, on the owner's thread.
using request_callback = std::function<void(std::shared_ptr<const request_result>)>;

/// What all requests share.
struct request_environment {
  caf::actor_system* system = nullptr;
  std::shared_ptr<const services> shared;
  std::shared_ptr<telemetry_queue> telemetry;
  std::shared_ptr<actor_slot<telemetry_writer_actor>> writer; ///< may be null
  idempotency_shards shards;                                  ///< empty: keys are refused with store_unavailable
  std::shared_ptr<actor_slot<cache_actor>> cache;             ///< may be null: as if nothing were in it
  std::shared_ptr<actor_slot<budget_actor>> budgets;          ///< may be null: who asks is refused
  /// What may wait for the shards and for the budgets; more than there are requests at once.
  mailbox_credit key_credit{20'000}, budget_credit{20'000};
  /// Of failures that every request may meet again.
  std::shared_ptr<problem_log> problems = std::make_shared<problem_log>();
};

/// What the owner has to ask for on the runner's behalf, then feed the answer.
namespace runner_wish {
struct breaker {
  std::shared_ptr<circuit_handle> circuit;
};                 ///< feed breaker_verdict
struct reserve {}; ///< send `reservation()` to `shard()`, feed key_answered
struct settle {
  bool success = false;
};                     ///< send `settlement()` to `shard()`, feed key_settled
struct look_up {};     ///< send `look_up()` to `cache()`, feed cache_answered
struct take_budget {}; ///< send `budget_reservation()` to `budgets()`, feed budget_answered
} // namespace runner_wish
using runner_request = std::variant<std::monostate, runner_wish::breaker, runner_wish::reserve, runner_wish::settle,
                                    runner_wish::look_up, runner_wish::take_budget>;

/// Gives the listener for an attempt's end.
using listener_factory = std::function<std::shared_ptr<attempt_listener>()>;

class request_runner {
public:
  request_runner(request_spec spec, std::shared_ptr<const request_environment> environment, request_callback on_done,
                 time_point now);
  request_runner(const request_runner&) = delete;
  request_runner& operator=(const request_runner&) = delete;
  ~request_runner();

  /// Feeds one input and executes what follows. Not reentrant.
  runner_request feed(const flow_event& input, time_point now, const listener_factory& listener);

  /// The running attempt has ended.
  runner_request attempt_done(provider_result&& result, time_point now, const listener_factory& listener);

  /// The first content of the running attempt's stream has come.
  runner_request content_begun(provider_result&& head, time_point now, const listener_factory& listener);

  /// The shard has answered.
  runner_request key_answered(const key_answer& answer, time_point now, const listener_factory& listener);

  /// The cache has answered.
  runner_request cache_answered(const cache_answer& answer, time_point now, const listener_factory& listener);

  /// The budgets have answered.
  runner_request budget_answered(const budget_answer& answer, time_point now, const listener_factory& listener);

  /// The caller has left, or with `force` the engine stops.
  runner_request cancel(bool force, time_point now, const listener_factory& listener);

  /// The timer has come.
  runner_request timer(time_point now, const listener_factory& listener);

  std::optional<time_point> wake_at() const noexcept { return flow_.wake_at(); }
  bool done() const noexcept { return flow_.done(); }

  /// The key's; null when there is none.
  idempotency_actor shard() const;
  /// Without a place too much waits for the shards: then it is not to be sent.
  reserve_key reservation(waiter_id waiter);
  settle_key settlement(bool success) const;

  /// Null when there is none.
  cache_actor cache() const;
  look_up_cache look_up(waiter_id waiter);

  /// Null when there are none.
  budget_actor budgets() const;
  /// As `reservation`.
  reserve_budget budget_reservation(budget_reservation id);

private:
  flow_input::attempt_progress progress() const;
  void let_flow();
  void start_attempt(const route_target& target, const listener_factory& listener);
  void report(std::string_view about, const std::string& problem) const;
  void finish(const flow_action::finish& f);
  void settle_cache(bool keep) const;
  std::shared_ptr<const request_result> result_of(const flow_action::finish& f) const;
  std::shared_ptr<const request_result> stale_result() const;
  std::shared_ptr<request_result> make_result(const flow_action::finish& f) const;
  std::string message_for(errc code) const;
  void write_telemetry();

  request_spec spec_;
  std::shared_ptr<const request_environment> environment_;
  request_callback on_done_;
  request_flow flow_;
  std::shared_ptr<attempt_handle> attempt_;
  bool attempting_ = false;                                ///< an attempt's end is awaited
  bool start_failed_ = false;                              ///< the provider threw
  bool receiver_failed_ = false;                           ///< threw in on_begin
  std::shared_ptr<const request_result::payload> content_; ///< of the last attempt with an HTTP answer
  std::shared_ptr<const request_result> joined_;           ///< from the shard or the cache
  std::shared_ptr<const request_result> stale_;            ///< from the cache
  waiter_id waiter_ = 0;
  owner_token token_ = 0;
  bool rerun_ = false; ///< of a lead [I10]
  waiter_id cache_waiter_ = 0;
  owner_token cache_token_ = 0;
  switchyard::budget_reservation budget_id_ = 0; ///< 0: nothing was asked for
  std::string budget_message_;
};

} // namespace switchyard
