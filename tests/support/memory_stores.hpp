#pragma once

#include "switchyard/actors/stores.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace switchyard::test {

/// Answers in memory; each operation fails while the test says so. Thread-safe.
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

  store_result<void> put(const std::string& scope, const stored_answer& answer) override {
    if (fail_put)
      return store_error{store_error::kind::full, "the disk is full"};
    const std::lock_guard lock{mutex_};
    answers_[scope] = std::make_shared<const stored_answer>(answer);
    return {};
  }

  std::shared_ptr<const stored_answer> stored(const std::string& scope) const {
    const std::lock_guard lock{mutex_};
    const auto found = answers_.find(scope);
    return found == answers_.end() ? nullptr : found->second;
  }

  std::atomic<bool> fail_find{false}, fail_put{false};
  std::atomic<int> finds{0};

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const stored_answer>> answers_;
};

/// A log in memory; `append` and `query` fail while the test says so. Thread-safe.
class memory_telemetry_log final : public telemetry_log {
public:
  store_result<void> append(std::span<const std::shared_ptr<const telemetry_record>> records) override {
    if (fail)
      return store_error{store_error::kind::full, "the disk is full"};
    const std::lock_guard lock{mutex_};
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
};

} // namespace switchyard::test
