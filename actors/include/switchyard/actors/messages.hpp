#pragma once

// The messages of Switchyard's actors: plain values, without CAF. Messages stay within the process; large parts travel
// as shared, immutable objects. Who sends them to whom stands in interfaces.hpp.

#include "switchyard/actors/health_board.hpp"
#include "switchyard/actors/mailbox_credit.hpp"
#include "switchyard/actors/provider.hpp"
#include "switchyard/actors/request_result.hpp"
#include "switchyard/actors/stores.hpp"
#include "switchyard/engine/budget.hpp"
#include "switchyard/engine/cache_control.hpp"
#include "switchyard/engine/circuit.hpp"
#include "switchyard/engine/circuit_cell.hpp"
#include "switchyard/engine/health_window.hpp"
#include "switchyard/engine/idempotency_ledger.hpp"
#include "switchyard/engine/response_cache.hpp"
#include "switchyard/engine/telemetry.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace switchyard {

/// Something that a handler did.
struct done {
  bool ok = true;
};

struct probe_request {
  /// What a breaker grants at the last moment must still reach the asker: how long before its own limit one gives up.
  static constexpr duration delivery = std::chrono::milliseconds{500};

  time_point until = time_point::max(); ///< when the asker gives up: what is granted later would belong to nobody
  bool held_by_asker = false;           ///< the asker, an actor, holds the permit: should it die, the probe goes back
};
struct drain_reports {};
struct overflow_report {
  outcome_report report;
};
struct set_circuit_mode {
  circuit_mode mode = circuit_mode::automatic;
};
struct reset_circuit {};
struct describe_circuit {};
struct breaker_tick {
  std::uint64_t number = 0;
};
struct configure_circuit {};
struct canary_result {
  std::uint64_t number = 0;           ///< which canary's
  std::optional<std::string> problem; ///< why it did not pass, for a person; nothing when it did
};
struct canary_timeout {};

/// A circuit as the admin plane shows it.
struct circuit_description {
  circuit_id id;
  circuit_snapshot figures{};
  time_point now{}; ///< when it was taken, to turn time points into wall time
};

struct list_circuits {};
struct change_circuit {
  std::optional<std::string> id; ///< nothing: all circuits
  std::optional<circuit_mode> mode;
  bool reset = false;
};
struct configure_circuits {};

/// Scored attempts, by provider and by circuit.
struct scored_attempt {
  std::string provider;
  std::string circuit;
  health_sample sample;
};
struct health_batch {
  std::shared_ptr<const std::vector<scored_attempt>> attempts;
};
struct describe_health {};
struct configure_health {
  health_settings settings;
  std::shared_ptr<health_board> board; ///< null: nobody sorts by health
};
struct publish_health {};
struct provider_health {
  std::string provider;
  health_figures figures;
};

struct drain_telemetry {
  bool by_timer = false;
};
struct flush_telemetry {};
struct query_telemetry {
  telemetry_query query;
};
struct telemetry_answer {
  std::shared_ptr<const std::vector<telemetry_row>> rows; ///< null when the log failed
  std::string problem;
};

struct query_usage {
  wall_time since{}, until{};
};
struct usage_answer {
  std::shared_ptr<const usage_sums> sums; ///< null when the log failed
  std::string problem;
};

/// The shard's word on a key. Sent as the answer to a reservation and once more to a joiner.
struct key_answer {
  flow_input::key_verdict verdict;
  waiter_id waiter = 0;
  owner_token token = 0;                        ///< of a lead
  std::shared_ptr<const request_result> result; ///< of an answered one
};
struct reserve_key {
  std::shared_ptr<const reserve_request> request;
  mailbox_place place{};
};
struct leave_key {
  std::string scope;
  waiter_id waiter = 0;
};
struct settle_key {
  std::string scope;
  owner_token token = 0;
  std::shared_ptr<const stored_answer> answer;  ///< to be stored; null after a failure
  std::shared_ptr<const request_result> result; ///< for the joiners
};
struct key_settled {
  bool stored = true;
};
struct commit_keys {};
struct count_keys {};

/// The cache's word on a request. Sent as the answer to a look-up and once more to who joined.
struct cache_answer {
  flow_input::cache_verdict verdict;
  waiter_id waiter = 0;
  owner_token token = 0;                        ///< of a lead
  std::shared_ptr<const request_result> result; ///< of an answered one; of a lead its stale answer, if there is one
};
struct look_up_cache {
  cache_place place;
  waiter_id waiter = 0;  ///< unique among look-ups
  cache_directives wish; ///< `store` is true: who wants nothing kept does not ask
};
struct leave_cache {
  cache_place place;
  waiter_id waiter = 0;
};
struct settle_cache {
  cache_place place;
  owner_token token = 0;
  std::shared_ptr<const answer_payload> answer; ///< to be kept; null when it may not be
  std::shared_ptr<const request_result> result; ///< for those who joined
};
struct describe_cache {};
struct configure_cache {
  cache_settings settings;
};
struct cache_description {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t in_flight = 0;
};

struct reserve_budget {
  budget_reservation id = 0;
  std::string tenant;
  std::string route; ///< the requested one
  budget_amount estimate;
  mailbox_place place{};
};
struct budget_answer {
  flow_input::budget_verdict verdict;
  std::string message; ///< of a refusal: which budget is used up, for a person
};
struct settle_budget {
  budget_reservation id = 0;
  std::optional<budget_amount> actual; ///< nothing: refunded
};
struct describe_budgets {};
struct configure_budgets {
  std::vector<budget_settings> budgets;
};
struct commit_budgets {};

struct await_start {};
struct restart_actor {
  std::size_t index = 0;
};

struct begin_request {};
struct stream_begun {
  std::uint64_t attempt = 0;
  std::shared_ptr<provider_result> head;
};
struct attempt_ended {
  std::uint64_t attempt = 0; ///< number of the attempt, so that a late one is known
  std::shared_ptr<provider_result> result;
};
struct request_tick {
  std::uint64_t number = 0;
};
struct cancel_request {
  bool force = false;
};

} // namespace switchyard
