#pragma once

#include "switchyard/actors/stores.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace switchyard::test {

/// What is stored of keys, in memory; each operation fails while the test says so. Thread-safe.
class memory_answer_store final : public answer_store {
public:
  store_result<std::shared_ptr<const stored_answer>> find(const std::string& scope) override {
    ++finds;
    if (fail_find)
      return store_error{store_error::kind::io, "the disk is gone"};
    const std::lock_guard lock{mutex_};
    const auto found = answers_.find(scope);
    return found == answers_.end() ? nullptr : found->second;
  }

  store_result<void> write(std::span<const key_change> changes) override {
    ++writes;
    if (fail_put)
      return store_error{store_error::kind::full, "the disk is full"};
    const std::lock_guard lock{mutex_};
    for (const auto& change : changes)
      if (change.record)
        answers_[change.scope] = change.record;
      else
        answers_.erase(change.scope);
    if (fail_put_late)
      return store_error{store_error::kind::io, "the disk is gone"};
    return {};
  }

  std::shared_ptr<const stored_answer> stored(const std::string& scope) const {
    const std::lock_guard lock{mutex_};
    const auto found = answers_.find(scope);
    return found == answers_.end() ? nullptr : found->second;
  }

  std::atomic<bool> fail_find{false}, fail_put{false};
  std::atomic<bool> fail_put_late{false}; ///< `write` fails although all is written, as a sync may
  std::atomic<int> finds{0}, writes{0};

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const stored_answer>> answers_;
};

/// A log in memory; `append` and `query` fail while the test says so. Thread-safe.
class memory_telemetry_log final : public telemetry_log {
public:
  store_result<void> append(std::span<const std::shared_ptr<const telemetry_record>> records,
                            const usage_sums& usage) override {
    if (fail)
      return store_error{store_error::kind::full, "the disk is full"};
    const std::lock_guard lock{mutex_};
    usage_.add(usage);
    batches_.push_back(records.size());
    records_.insert(records_.end(), records.begin(), records.end());
    return {};
  }

  store_result<std::vector<telemetry_row>> query(const telemetry_query&) override {
    if (fail)
      return store_error{store_error::kind::io, "the disk is gone"};
    const std::lock_guard lock{mutex_};
    std::vector<telemetry_row> rows;
    for (const auto& record : records_)
      rows.push_back({record->request.request_id, record->request});
    return rows;
  }

  store_result<usage_sums> usage(wall_time since, wall_time until) override {
    const std::lock_guard lock{mutex_};
    usage_sums found;
    for (const auto& [key, totals] : usage_)
      if (key.hour >= since && key.hour < until)
        found.add(key, totals);
    return found;
  }

  store_result<void> scan(wall_time, const std::function<void(const telemetry_record&)>& each) override {
    const std::lock_guard lock{mutex_};
    for (const auto& record : records_)
      each(*record);
    return {};
  }

  std::size_t size() const {
    const std::lock_guard lock{mutex_};
    return records_.size();
  }
  std::vector<std::size_t> batches() const {
    const std::lock_guard lock{mutex_};
    return batches_;
  }

  std::atomic<bool> fail{false};

private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const telemetry_record>> records_;
  std::vector<std::size_t> batches_;
  usage_sums usage_;
};

/// Budgets' ledgers in memory; each operation fails while the test says so. Thread-safe.
class memory_budget_store final : public budget_store {
public:
  store_result<std::vector<stored_budget>> load() override {
    if (fail_load)
      return store_error{store_error::kind::io, "the disk is gone"};
    return stored();
  }

  store_result<void> write(std::span<const stored_budget> ledgers) override {
    ++writes;
    if (fail)
      return store_error{store_error::kind::full, "the disk is full"};
    const std::lock_guard lock{mutex_};
    for (const auto& l : ledgers)
      ledgers_.insert_or_assign(l.ledger, l);
    return {};
  }

  std::vector<stored_budget> stored() const {
    const std::lock_guard lock{mutex_};
    std::vector<stored_budget> all;
    for (const auto& [name, l] : ledgers_)
      all.push_back(l);
    return all;
  }

  std::atomic<bool> fail{false}, fail_load{false};
  std::atomic<int> writes{0};

private:
  mutable std::mutex mutex_;
  std::map<std::string, stored_budget> ledgers_;
};

} // namespace switchyard::test
