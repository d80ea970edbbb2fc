#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace switchyard::metrics {

/// A map from names to series that only grows. Finding takes no lock and writes nothing, so that events on many threads
/// do not meet here; adding takes a lock. The number of buckets is fixed: chains grow when far more names are added
/// than were expected.
template <class T>
class series_table {
public:
  explicit series_table(std::size_t expected) : buckets_(std::bit_ceil(std::max<std::size_t>(expected, 512) * 2)) {}

  T* find(std::string_view name) const noexcept {
    for (auto* n = bucket(name).load(std::memory_order_acquire); n; n = n->next)
      if (n->name == name)
        return &n->value;
    return nullptr;
  }

  /// The series of that name, made from `arguments` if there is none.
  template <class... Arguments>
  T& add(const std::string& name, Arguments&&... arguments) {
    std::lock_guard lock(mutex_);
    if (auto* known = find(name))
      return *known;
    auto& head = bucket(name);
    auto& n = nodes_.emplace_back(name, head.load(std::memory_order_relaxed), std::forward<Arguments>(arguments)...);
    head.store(&n, std::memory_order_release);
    return n.value;
  }

  /// Calls `f` with every series, in the order in which they were added.
  template <class F>
  void for_each(F f) {
    std::lock_guard lock(mutex_);
    for (auto& n : nodes_)
      f(n.value);
  }
  template <class F>
  void for_each(F f) const {
    std::lock_guard lock(mutex_);
    for (const auto& n : nodes_)
      f(n.value);
  }

private:
  struct node {
    template <class... Arguments>
    node(std::string key, node* rest, Arguments&&... arguments)
        : name(std::move(key)), next(rest), value(std::forward<Arguments>(arguments)...) {}
    std::string name;
    node* next;
    T value;
  };

  std::atomic<node*>& bucket(std::string_view name) const noexcept {
    return buckets_[std::hash<std::string_view>{}(name) & (buckets_.size() - 1)];
  }

  mutable std::vector<std::atomic<node*>> buckets_;
  mutable std::mutex mutex_;
  std::deque<node> nodes_; ///< never moves its elements
};

} // namespace switchyard::metrics
