// Another configuration for a running core.

#include "core_impl.hpp"
#include "visiting_thread.hpp"

#include "switchyard/engine/validate.hpp"

#include <boost/algorithm/string/join.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace switchyard {

namespace {

using std::chrono::seconds;

start_error refused(std::string why) {
  return {start_error::kind::configuration, std::move(why)};
}

std::set<const circuit_handle*> circuits_of(const topology& routes) {
  std::set<const circuit_handle*> all;
  for (const auto& handle : routes.circuits)
    all.insert(handle.get());
  return all;
}

template <class Actor, class Message>
void tell(const actor_slot<Actor>& slot, Message message) {
  if (const auto actor = slot.get())
    caf::anon_send(actor, std::move(message));
}

} // namespace

std::shared_ptr<const config> core_impl::settings() const {
  return now()->kept_settings;
}

boost::system::result<void, start_error> core_impl::reload(config c) {
  if (on_own_thread())
    return refused("a reload must not be called on a thread of the runtime");
  if (auto problem = check_settings(c))
    return *std::move(problem);
  const std::lock_guard lock{reload_mutex_};
  const detail::gate::pass pass{actors_gate_};
  if (!pass)
    return refused("the runtime has stopped");
  if (auto problem = what_needs_a_restart(c))
    return *std::move(problem);
  const auto before = now();
  auto next = std::make_shared<configured>(std::move(c));
  if (auto problem = make_providers(*next, before.get()))
    return *std::move(problem);
  put_in_use(std::move(next), *before);
  shared_->emit(reload_event{true, shared_->wall_clock()});
  return {};
}

std::optional<start_error> core_impl::what_needs_a_restart(const config& c) const {
  const auto current = now();
  const auto& in_use = current->settings;
  std::vector<std::string> problems;
  const auto check = [&](bool same, const std::string& pointer) {
    if (!same)
      problems.push_back(pointer + ": cannot change in a running program; restart it to use the new value");
  };
  check(c.telemetry.path == in_use.telemetry.path, "/telemetry/path");
  check(c.telemetry.retention == in_use.telemetry.retention, "/telemetry/retention");
  check(c.store == in_use.store, "/store/block_cache");
  check(c.idempotency.durability == in_use.idempotency.durability, "/idempotency/durability");
  check(c.cluster == in_use.cluster, "/cluster");
  return problems.empty() ? std::nullopt : std::optional{refused(boost::algorithm::join(problems, "\n"))};
}

// From here on nothing can fail. Every circuit has its breaker before the first request may ask it.
void core_impl::put_in_use(std::shared_ptr<configured> next, const configured& before) {
  const visiting_thread visit;
  connect(*next, &before, *registry_);
  configure_guarded(*next);
  forget_circuits(*next, *before.routes);
  metrics_->configure(names_of(*next));
  caf::scoped_actor self{*system_};
  self->request(directory_, seconds{10}, configure_circuits{})
      .receive([](const done&) {},
               [this](const caf::error& e) {
                 shared_->log(log_level::error, "the directory does not answer: " + caf::to_string(e));
               });
  bound_requests(next->settings.gateway.max_in_flight);
  hand_out(next);
  for (const auto& w : next->settings.warnings)
    shared_->log(log_level::warning, w);
}

// An actor that dies meanwhile has a successor with the new settings: it is made before, and told, or after.
void core_impl::hand_out(const std::shared_ptr<const configured>& next) {
  const std::lock_guard lock{successor_mutex_};
  const auto& settings = next->settings;
  tell(*cache_, configure_cache{settings.cache}); // before there are requests that rely on it
  tell(*budgets_, configure_budgets{settings.budgets});
  configured_.store(next);
  tell(*health_, configure_health{settings.health, next->health});
}

// For an actor that may block there may wait the messages of all of them, and of as many that gave up.
void core_impl::bound_requests(std::uint32_t at_once) {
  const auto waiting = std::min<std::uint64_t>(std::uint64_t{at_once} * 2, std::numeric_limits<std::uint32_t>::max());
  running_limit_.set_limit(at_once);
  environment_->key_credit.set_limit(static_cast<std::uint32_t>(waiting));
  environment_->budget_credit.set_limit(static_cast<std::uint32_t>(waiting));
}

// Circuits that guards alone have follow their profile, as long as there is one of that name.
void core_impl::configure_guarded(const configured& c) {
  const auto served = circuits_of(*c.routes);
  for (const auto& [id, profile] : guarded_) {
    const auto handle = registry_->find(id);
    if (!handle || served.contains(handle.get()))
      continue;
    handle->set_canary(nullptr); // of a route that it had before
    if (const auto found = c.settings.circuits.find(profile); found != c.settings.circuits.end())
      handle->configure(found->second);
  }
}

// A circuit that no route has any more goes with the requests that still use it; one of a guard stays.
void core_impl::forget_circuits(const configured& c, const topology& before) {
  std::erase_if(retired_, [](const auto& handle) { return handle.expired(); });
  const auto served = circuits_of(*c.routes);
  for (const auto& handle : before.circuits)
    if (handle && !served.contains(handle.get()) && !guarded_.contains(handle->cell().id()))
      if (auto gone = registry_->remove(handle->cell().id())) {
        gone->retire();
        retired_.push_back(std::move(gone));
      }
}

} // namespace switchyard
