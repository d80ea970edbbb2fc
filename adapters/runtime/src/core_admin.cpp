#include "core_impl.hpp"
#include "visiting_thread.hpp"

#include <boost/throw_exception.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard {

namespace {

using std::chrono::seconds;

constexpr seconds answer_limit{5};

// Asks an actor from outside the actors: a short-lived one waits for the answer, so no thread does.
template <class Answer, class Target, class Message>
void ask(caf::actor_system& system, const Target& target, Message message, std::function<void(Answer)> on_answer,
         std::function<void()> on_failure) {
  const visiting_thread visit;
  system.spawn([=](caf::event_based_actor* self) {
    self->request(target, answer_limit, message)
        .then([=](Answer answer) { on_answer(std::move(answer)); }, [=](const caf::error&) { on_failure(); });
  });
}

admin_error no_answer(std::string_view who) {
  return {errc::overloaded, std::string{who} + " does not answer"};
}

admin_error stopping() {
  return {errc::shutting_down, "shutting down"};
}

constexpr const char* silent_log = "the telemetry log does not answer";

} // namespace

void throw_exception_from_error(const admin_error& error, const boost::source_location& where) {
  boost::throw_with_location(std::runtime_error{error.message}, where);
}

void core_impl::list_circuits(std::function<void(admin_result<std::vector<circuit_description>>)> on_done) {
  const detail::gate::pass pass{actors_gate_};
  if (!pass)
    return on_done(stopping());
  ask<std::vector<circuit_description>>(*system_, directory_, switchyard::list_circuits{}, on_done,
                                        [on_done] { on_done(no_answer("the directory")); });
}

void core_impl::change_circuit(switchyard::change_circuit change, std::function<void(admin_result<void>)> on_done) {
  if (change.id && !registry_->find(*change.id)) // before the gate: who is called may stop this core
    return on_done(admin_error{errc::not_found, "there is no circuit " + *change.id});
  const detail::gate::pass pass{actors_gate_};
  if (!pass)
    return on_done(stopping());
  ask<done>(
      *system_, directory_, std::move(change),
      [on_done](done d) { on_done(d.ok ? admin_result<void>{} : no_answer("the circuit's breaker")); },
      [on_done] { on_done(no_answer("the directory")); });
}

void core_impl::describe_health(std::function<void(admin_result<std::vector<provider_health>>)> on_done) {
  const detail::gate::pass pass{actors_gate_};
  if (!pass)
    return on_done(stopping());
  ask<std::vector<provider_health>>(*system_, health_->get(), switchyard::describe_health{}, on_done,
                                    [on_done] { on_done(no_answer("the health actor")); });
}

void core_impl::describe_budgets(std::function<void(admin_result<std::vector<budget_figures>>)> on_done) {
  const detail::gate::pass pass{actors_gate_};
  if (!pass)
    return on_done(stopping());
  if (now()->settings.budgets.empty())
    return on_done(std::vector<budget_figures>{});
  ask<std::vector<budget_figures>>(*system_, budgets_->get(), switchyard::describe_budgets{}, on_done,
                                   [on_done] { on_done(no_answer("the budgets")); });
}

// What was answered is to be found: the writer first writes what waits in its queue.
template <class Answer, class Query>
void core_impl::ask_log(Query query, std::function<void(Answer)> on_done) {
  const auto fail = [on_done] { on_done(Answer{nullptr, silent_log}); };
  const detail::gate::pass pass{actors_gate_};
  if (!pass)
    return fail();
  ask<done>(
      *system_, writer_->get(), flush_telemetry{},
      [this, query, on_done, fail](done) {
        const detail::gate::pass still_open{actors_gate_};
        if (!still_open)
          return fail();
        ask<Answer>(*system_, reader_->get(), query, on_done, fail);
      },
      fail);
}

void core_impl::query_telemetry(telemetry_query query, std::function<void(telemetry_answer)> on_done) {
  ask_log<telemetry_answer>(switchyard::query_telemetry{std::move(query)}, std::move(on_done));
}

void core_impl::query_usage(switchyard::query_usage query, std::function<void(usage_answer)> on_done) {
  ask_log<usage_answer>(query, std::move(on_done));
}

wall_time core_impl::to_wall(time_point t) const {
  return shared_->wall_clock() + (t - time_point{std::chrono::steady_clock::now()});
}

std::shared_ptr<void> core_impl::observe(std::shared_ptr<event_sink> observer) {
  return hub_->observe(std::move(observer));
}

std::shared_ptr<const core::circuit_access> core_impl::circuit(const std::string& id, const std::string& profile) {
  const std::lock_guard lock{reload_mutex_};
  auto handle = registry_->find(circuit_id{id, {}, {}}.str());
  if (!handle) {
    const auto current = now();
    const auto settings = current->settings.circuits.find(profile);
    if (settings == current->settings.circuits.end())
      return nullptr;
    const detail::gate::pass pass{actors_gate_};
    if (!pass)
      return nullptr;
    handle = registry_->add(std::make_shared<circuit_handle>(circuit_id{id, {}, {}}, settings->second));
    metrics_->add_circuit({handle->cell().id(), id, {}, {}});
    // Its breaker is started by the directory, and is there when this returns.
    const visiting_thread visit;
    caf::scoped_actor self{*system_};
    self->request(directory_, answer_limit, switchyard::list_circuits{})
        .receive([](const std::vector<circuit_description>&) {}, [](const caf::error&) {});
  }
  guarded_.emplace(handle->cell().id(), profile);
  auto access = std::make_shared<circuit_access>();
  access->keep_alive = handle;
  access->cell = &handle->cell();
  access->slow_after = &handle->slow_after();
  access->wake = [handle] {
    if (const auto breaker = handle->breaker())
      caf::anon_send(breaker, drain_reports{});
  };
  access->send = [handle](outcome_report report) {
    if (const auto breaker = handle->breaker())
      caf::anon_send(breaker, overflow_report{std::move(report)});
  };
  access->ask = [this, handle](std::function<void(std::optional<admission_verdict>)> on_answer) {
    if (const detail::gate::pass pass{actors_gate_}; pass)
      if (const auto breaker = handle->breaker())
        return switchyard::ask<admission_verdict>(
            *system_, breaker,
            probe_request{.until = std::chrono::steady_clock::now() + answer_limit - probe_request::delivery},
            [on_answer](admission_verdict v) { on_answer(v); }, [on_answer] { on_answer(std::nullopt); });
    on_answer(std::nullopt);
  };
  return access;
}

} // namespace switchyard
