#include "event_hub.hpp"

#include "background_queue.hpp"
#include "kept_event.hpp"

#include "switchyard/runtime/core.hpp"

#include <string>
#include <utility>

namespace switchyard {

/// An observer from outside, behind its queue. The thread holds the observer, so it lives as long as it is called.
class queued_observer : public event_sink {
public:
  using queue = detail::background_queue<std::unique_ptr<const detail::kept_event>>;

  queued_observer(const void* owner, std::shared_ptr<event_sink> observer, log_callback log)
      : log_(std::move(log)),
        queue_(owner, core::observer_queue,
               [observer = std::move(observer)](const std::unique_ptr<const detail::kept_event>& e, std::uint64_t) {
                 observer->on_event(e->view());
               }) {}

  void on_event(const event& e) noexcept override {
    try {
      if (queue_.push(std::make_unique<const detail::kept_event>(e)) == detail::push_result::first_dropped)
        log_(log_level::warning, "an observer is too slow: " + std::to_string(core::observer_queue) +
                                     " events wait for it; until there is room it misses what happens");
    } catch (...) { // NOLINT(bugprone-empty-catch): without memory for a copy this observer misses an event [C15]
    }
  }

  void close(queue::ending how, std::chrono::steady_clock::time_point until) {
    queue_.close(how, until);
    if (const auto missed = queue_.dropped(); missed != 0 && !told_.exchange(true))
      log_(log_level::warning, "an observer that was too slow missed " + std::to_string(missed) + " events");
  }

private:
  log_callback log_;
  queue queue_;
  std::atomic<bool> told_{false};
};

void event_hub::on_event(const event& e) noexcept {
  if (count_.load(std::memory_order_acquire) == 0)
    return;
  const auto observers = observers_.load();
  for (const auto& o : *observers)
    o->on_event(e);
}

// Under the mutex, as `remove`.
void event_hub::add(std::shared_ptr<event_sink> observer) {
  auto next = std::make_shared<list>(*observers_.load());
  next->push_back(std::move(observer));
  const auto count = static_cast<int>(next->size());
  observers_.store(std::move(next));
  count_.store(count, std::memory_order_release);
}

void event_hub::remove(const event_sink* observer) {
  auto next = std::make_shared<list>(*observers_.load());
  std::erase_if(*next, [&](const auto& o) { return o.get() == observer; });
  const auto count = static_cast<int>(next->size());
  observers_.store(std::move(next));
  count_.store(count, std::memory_order_release);
}

void event_hub::add_inline(std::shared_ptr<event_sink> observer) {
  std::lock_guard lock{changes_};
  add(std::move(observer));
}

std::shared_ptr<void> event_hub::observe(std::shared_ptr<event_sink> observer) {
  auto added = std::make_shared<queued_observer>(owner_, std::move(observer), log_);
  {
    std::lock_guard lock{changes_};
    if (closed_)
      return added; // whose end is that of its thread
    add(added);
    outside_.push_back(added);
  }
  auto* key = added.get();
  return std::shared_ptr<void>{key, [hub = weak_from_this(), added = std::move(added)](void*) {
                                 if (const auto alive = hub.lock()) {
                                   std::lock_guard lock{alive->changes_};
                                   alive->remove(added.get());
                                   std::erase(alive->outside_, added);
                                 }
                                 added->close(queued_observer::queue::ending::discard,
                                              std::chrono::steady_clock::now() + core::observer_patience);
                               }};
}

void event_hub::close(std::chrono::steady_clock::time_point until) {
  std::vector<std::shared_ptr<queued_observer>> all;
  {
    std::lock_guard lock{changes_};
    closed_ = true;
    all.swap(outside_);
    for (const auto& o : all)
      remove(o.get());
  }
  for (const auto& o : all)
    o->close(queued_observer::queue::ending::deliver, until);
}

} // namespace switchyard
