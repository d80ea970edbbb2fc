#include "key_journal.hpp"

#include "store_call.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace switchyard {

namespace {

// Neither so many changes nor so many bytes wait for their commit.
constexpr std::size_t batch_changes = 1024;
constexpr std::size_t batch_bytes = 8u << 20;
// So many free keys are kept; should the store be away for so long that there are more, some read as interrupted.
constexpr std::size_t most_free = 10'000;

} // namespace

store_result<std::shared_ptr<const stored_answer>> key_journal::find(const std::string& scope) const {
  if (free_.contains(scope))
    return std::shared_ptr<const stored_answer>{};
  return store_call([&] { return store_->find(scope); });
}

void key_journal::add(key_change c, continuation after) {
  bytes_ += c.scope.size() + (c.record ? c.record->body.size() : 0);
  changes_.push_back(std::move(c));
  then_.push_back(std::move(after));
}

bool key_journal::has(const std::string& scope) const {
  return std::ranges::find(changes_, scope, &key_change::scope) != changes_.end();
}

bool key_journal::full() const noexcept {
  return changes_.size() >= batch_changes || bytes_ >= batch_bytes;
}

void key_journal::set_free(const std::string& scope) {
  if (free_.size() >= most_free)
    free_.erase(free_.begin());
  free_.insert(scope);
}

void key_journal::set_unused(const std::string& scope) {
  if (free_.size() < most_free / 2)
    free_.insert(scope);
}

store_result<void> key_journal::commit() {
  if (changes_.empty() && free_.empty())
    return {};
  std::vector<key_change> batch;
  for (const auto& scope : free_)
    batch.push_back({scope, nullptr});
  std::ranges::move(std::exchange(changes_, {}), std::back_inserter(batch)); // what is newer of a key comes later
  bytes_ = 0;
  auto written = store_call([&] { return store_->write(batch); });
  if (written)
    free_.clear();
  else
    for (const auto& c : batch) // who asked for a record hears that it failed
      if (!c.record)
        set_free(c.scope);
  tell(static_cast<bool>(written));
  return written;
}

void key_journal::abandon() {
  tell(false);
}

void key_journal::tell(bool written) {
  for (const auto& f : std::exchange(then_, {}))
    f(written);
}

} // namespace switchyard
