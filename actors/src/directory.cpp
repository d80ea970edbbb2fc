#include "switchyard/actors/directory.hpp"

#include "switchyard/actors/breaker.hpp"

#include <caf/actor_cast.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace switchyard {

std::shared_ptr<circuit_handle> circuit_registry::find(const std::string& id) const {
  std::lock_guard lock{mutex_};
  const auto found = circuits_.find(id);
  return found == circuits_.end() ? nullptr : found->second;
}

std::shared_ptr<circuit_handle> circuit_registry::add(std::shared_ptr<circuit_handle> handle) {
  std::lock_guard lock{mutex_};
  const auto id = handle->cell().id();
  return circuits_.try_emplace(id, std::move(handle)).first->second;
}

std::shared_ptr<circuit_handle> circuit_registry::remove(const std::string& id) {
  std::lock_guard lock{mutex_};
  const auto node = circuits_.extract(id);
  return node.empty() ? nullptr : node.mapped();
}

std::vector<std::shared_ptr<circuit_handle>> circuit_registry::all() const {
  std::lock_guard lock{mutex_};
  std::vector<std::shared_ptr<circuit_handle>> found;
  found.reserve(circuits_.size());
  for (const auto& [id, handle] : circuits_)
    found.push_back(handle);
  return found;
}

namespace {

using std::chrono::seconds;

constexpr seconds breaker_limit{2};

using descriptions = std::vector<circuit_description>;

// Gathers the answers of several breakers into one.
template <class Answer>
struct gathering {
  caf::typed_response_promise<Answer> promise;
  Answer answer;
  std::size_t missing = 0;

  void arrived() {
    if (--missing > 0)
      return;
    if constexpr (std::is_same_v<Answer, descriptions>)
      std::sort(answer.begin(), answer.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    promise.deliver(std::move(answer));
  }
};

struct directory_state {
  static inline const char* name = "switchyard.directory";

  directory_actor::stateful_pointer<directory_state> self = nullptr;
  std::shared_ptr<circuit_registry> registry;
  std::shared_ptr<const services> shared;
  std::map<caf::actor_addr, std::weak_ptr<circuit_handle>> watched;

  void start_breaker(const std::shared_ptr<circuit_handle>& handle) {
    // A successor keeps the operator's mode: only the state is lost with its breaker.
    auto breaker = spawn_breaker(self->home_system(), handle, shared, handle->cell().mode());
    self->monitor(breaker);
    watched[breaker.address()] = handle;
  }

  void breaker_down(const caf::down_msg& down) {
    const auto found = watched.find(down.source);
    if (found == watched.end())
      return;
    const auto handle = found->second.lock();
    watched.erase(found);
    if (!handle || down.reason == caf::exit_reason::user_shutdown)
      return; // the circuit has gone, or the runtime stops
    shared->log(log_level::error, "circuit " + handle->cell().id() + ": its breaker died (" +
                                      caf::to_string(down.reason) + ") and comes back closed");
    if (!handle->retired())
      shared->emit(breaker_restarted_event{handle->cell().id(), shared->wall_clock()});
    start_breaker(handle);
  }

  void start_missing() {
    for (const auto& handle : registry->all())
      if (!handle->breaker())
        start_breaker(handle);
  }

  caf::typed_response_promise<descriptions> list() {
    start_missing();
    auto all = std::make_shared<gathering<descriptions>>();
    all->promise = self->make_response_promise<descriptions>();
    const auto handles = registry->all();
    all->missing = handles.size() + 1;
    for (const auto& handle : handles)
      self->request(handle->breaker(), breaker_limit, describe_circuit{})
          .then(
              [all](const circuit_description& d) {
                all->answer.push_back(d);
                all->arrived();
              },
              [all](const caf::error&) { all->arrived(); });
    all->arrived();
    return all->promise;
  }

  // Sends the circuit's breaker the message; its answer is one of those that are gathered.
  template <class Message>
  void tell(const std::shared_ptr<gathering<done>>& all, const std::shared_ptr<circuit_handle>& handle,
            const Message& message) {
    ++all->missing;
    self->request(handle->breaker(), breaker_limit, message)
        .then([all](const done&) { all->arrived(); },
              [all](const caf::error&) {
                all->answer.ok = false;
                all->arrived();
              });
  }

  caf::typed_response_promise<done> configure() {
    start_missing();
    auto all = std::make_shared<gathering<done>>();
    all->promise = self->make_response_promise<done>();
    all->missing = 1;
    for (const auto& handle : registry->all())
      tell(all, handle, configure_circuit{});
    all->arrived();
    return all->promise;
  }

  caf::typed_response_promise<done> change(const change_circuit& c) {
    start_missing();
    auto all = std::make_shared<gathering<done>>();
    all->promise = self->make_response_promise<done>();
    auto handles = registry->all();
    if (c.id)
      std::erase_if(handles, [&](const auto& h) { return h->cell().id() != *c.id; });
    all->answer.ok = !handles.empty();
    all->missing = 1;
    for (const auto& handle : handles) {
      if (c.mode)
        tell(all, handle, set_circuit_mode{*c.mode});
      if (c.reset)
        tell(all, handle, reset_circuit{});
    }
    all->arrived();
    return all->promise;
  }
};

directory_actor::behavior_type directory_behavior(directory_actor::stateful_pointer<directory_state> self,
                                                  std::shared_ptr<circuit_registry> registry,
                                                  std::shared_ptr<const services> shared) {
  auto& s = self->state;
  s.self = self;
  s.registry = std::move(registry);
  s.shared = std::move(shared);
  self->set_down_handler([&s](const caf::down_msg& down) { s.breaker_down(down); });
  s.start_missing();
  return {
      [&s](const list_circuits&) { return s.list(); },
      [&s](const change_circuit& c) { return s.change(c); },
      [&s](const configure_circuits&) { return s.configure(); },
  };
}

} // namespace

directory_actor spawn_directory(caf::actor_system& system, std::shared_ptr<circuit_registry> registry,
                                std::shared_ptr<const services> shared) {
  return system.spawn(directory_behavior, std::move(registry), std::move(shared));
}

} // namespace switchyard
