#pragma once

#include "configured.hpp"
#include "event_hub.hpp"
#include "gate.hpp"
#include "inline_request.hpp"
#include "key_alarm.hpp"
#include "log_relay.hpp"

#include "switchyard/actors/budgets.hpp"
#include "switchyard/actors/cache.hpp"
#include "switchyard/actors/directory.hpp"
#include "switchyard/actors/health.hpp"
#include "switchyard/actors/idempotency.hpp"
#include "switchyard/actors/supervisor.hpp"
#include "switchyard/actors/telemetry.hpp"
#include "switchyard/actors/topology.hpp"
#include "switchyard/engine/bulkhead.hpp"
#include "switchyard/http/io_threads.hpp"
#include "switchyard/prometheus/metrics.hpp"
#include "switchyard/runtime/core.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace switchyard {

class core_impl final : public core, public std::enable_shared_from_this<core_impl> {
public:
  core_impl(config c, core_options options);
  ~core_impl() override;

  /// Deletes it, on another thread where this is one that the end waits for.
  static void dispose(core_impl* c) noexcept;

  /// Completes it; the reason when it cannot be used.
  static std::optional<start_error> check_settings(config& c);

  /// Opens and starts everything; the reason when something cannot be.
  std::optional<start_error> start();

  std::shared_ptr<const config> settings() const override;
  boost::system::result<void, start_error> reload(config c) override;
  http::io_threads& threads() noexcept override { return io_; }
  std::string new_request_id() override;
  std::shared_ptr<request_handle> submit(submission s, result_callback on_done) override;
  std::size_t in_flight() const noexcept override { return in_flight_.load(std::memory_order_relaxed); }
  std::vector<std::string> active_routes() const override;

  void list_circuits(std::function<void(admin_result<std::vector<circuit_description>>)> on_done) override;
  void change_circuit(switchyard::change_circuit change, std::function<void(admin_result<void>)> on_done) override;
  void describe_health(std::function<void(admin_result<std::vector<provider_health>>)> on_done) override;
  void describe_budgets(std::function<void(admin_result<std::vector<budget_figures>>)> on_done) override;
  void query_telemetry(telemetry_query query, std::function<void(telemetry_answer)> on_done) override;
  void query_usage(switchyard::query_usage query, std::function<void(usage_answer)> on_done) override;
  std::string metrics_text() override { return metrics_->expose(); }
  wall_time to_wall(time_point t) const override;
  std::shared_ptr<void> observe(std::shared_ptr<event_sink> observer) override;

  void refuse_new() noexcept override { refusing_.store(true, std::memory_order_seq_cst); }
  void stop(duration grace) override;
  bool on_own_thread() const noexcept override;

  std::shared_ptr<const circuit_access> circuit(const std::string& id, const std::string& profile) override;
  const services& shared() const noexcept override { return *shared_; }

private:
  template <class Answer, class Query>
  void ask_log(Query query, std::function<void(Answer)> on_done);
  std::optional<start_error> open_stores();
  std::shared_ptr<const configured> now() const { return configured_.load(); }
  std::optional<start_error> make_providers(configured& c, const configured* before);
  std::optional<start_error> what_needs_a_restart(const config& c) const;
  void put_in_use(std::shared_ptr<configured> next, const configured& before);
  void hand_out(const std::shared_ptr<const configured>& next);
  void bound_requests(std::uint32_t at_once);
  void configure_guarded(const configured& c);
  void forget_circuits(const configured& c, const topology& before);
  metrics::known_names names_of(const configured& c) const;
  void make_observers();
  void start_actors(std::vector<scored_attempt> history);
  std::vector<supervised> supervised_actors(std::vector<scored_attempt> history);
  store_result<std::vector<scored_attempt>> read_history();
  request_spec make_spec(submission&& s, const configured& c, const route_target& primary) const;
  void begin(std::shared_ptr<inline_request> request, std::size_t thread, request_spec spec);
  void finished_one() noexcept;
  void end(duration grace);
  void wait_for_requests(duration grace);
  void end_all_requests();
  void stop_actors();

  core_options options_;
  detail::log_relay log_lines_;
  bulkhead running_limit_; ///< gateway.max_in_flight; before the I/O threads, whose requests hold slots
  http::io_threads io_;    ///< before the providers, which it outlives
  std::shared_ptr<services> shared_;
  std::shared_ptr<event_hub> hub_;
  std::shared_ptr<metrics::metrics> metrics_;
  std::string id_prefix_; ///< makes request ids of different processes differ
  std::atomic<std::uint64_t> next_id_{0};
  std::atomic<std::uint64_t> random_state_{0};

  std::shared_ptr<telemetry_log> log_;
  std::shared_ptr<answer_store> answers_;
  std::shared_ptr<budget_store> budget_store_; ///< null: budgets live in memory
  std::shared_ptr<telemetry_queue> queue_ = std::make_shared<telemetry_queue>();
  std::shared_ptr<circuit_registry> registry_ = std::make_shared<circuit_registry>();
  std::map<std::string, std::string> guarded_; ///< circuits that a guard was given, and their profile; under the lock
  std::vector<std::weak_ptr<circuit_handle>> retired_; ///< of no route any more, but of requests; under the lock
  std::atomic<std::shared_ptr<const configured>> configured_;
  mutable std::mutex reload_mutex_; ///< one reload after the other
  std::mutex successor_mutex_;      ///< no actor is made of settings that a reload is about to replace

  std::vector<request_list> running_; ///< by I/O thread, each touched by its thread only

  caf::actor_system_config actor_config_;
  detail::gate actors_gate_; ///< to be entered by who asks an actor from outside; closed before they stop
  std::unique_ptr<caf::actor_system> system_;
  directory_actor directory_;
  supervisor_actor supervisor_;
  std::shared_ptr<actor_slot<health_actor>> health_ = std::make_shared<actor_slot<health_actor>>();
  std::shared_ptr<actor_slot<telemetry_writer_actor>> writer_ = std::make_shared<actor_slot<telemetry_writer_actor>>();
  std::shared_ptr<actor_slot<telemetry_reader_actor>> reader_ = std::make_shared<actor_slot<telemetry_reader_actor>>();
  idempotency_shards shards_;
  std::shared_ptr<actor_slot<cache_actor>> cache_ = std::make_shared<actor_slot<cache_actor>>();
  std::shared_ptr<actor_slot<budget_actor>> budgets_ = std::make_shared<actor_slot<budget_actor>>();
  std::shared_ptr<request_environment> environment_;

  std::atomic<bool> refusing_{false};
  std::atomic<std::size_t> in_flight_{0};
  std::mutex stop_mutex_; ///< for the one who waits in `stop`
  std::condition_variable idle_;
  std::condition_variable ended_changed_;
  bool ended_ = false; ///< under `stop_mutex_`
  std::atomic<bool> started_{false};
  std::atomic<bool> stopping_{false};
};

} // namespace switchyard
