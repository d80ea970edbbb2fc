#include "event_hub.hpp"

#include <utility>

namespace switchyard {

void event_hub::on_event(const event& e) noexcept {
  if (count_.load(std::memory_order_acquire) == 0)
    return;
  const auto observers = observers_.load();
  for (const auto& o : *observers)
    o->on_event(e);
}

void event_hub::change(const std::shared_ptr<event_sink>& observer, bool add) {
  std::lock_guard lock{changes_};
  auto next = std::make_shared<list>(*observers_.load());
  if (add)
    next->push_back(observer);
  else
    std::erase(*next, observer);
  const auto count = static_cast<int>(next->size());
  observers_.store(std::move(next));
  count_.store(count, std::memory_order_release);
}

std::shared_ptr<void> event_hub::observe(const std::shared_ptr<event_hub>& hub, std::shared_ptr<event_sink> observer) {
  hub->change(observer, true);
  auto* key = observer.get();
  return std::shared_ptr<void>{key, [hub, observer = std::move(observer)](void*) { hub->change(observer, false); }};
}

} // namespace switchyard
