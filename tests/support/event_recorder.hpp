#pragma once

#include "switchyard/engine/events.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::test {

/// Writes every event down as one line of text, e.g. "fallback a>b server_error", and keeps the requests' records.
/// Thread-safe.
class event_recorder final : public event_sink {
public:
  void on_event(const event& e) noexcept override {
    auto line = std::visit([](const auto& x) { return text(x); }, e);
    const std::lock_guard lock{mutex_};
    lines_.push_back(std::move(line));
    if (const auto* request = std::get_if<request_event>(&e))
      records_.push_back(request->record);
    if (const auto* dropped = std::get_if<telemetry_dropped_event>(&e))
      dropped_rows_ += dropped->rows;
    if (const auto* refused = std::get_if<circuit_refused_event>(&e))
      waits_.push_back(refused->retry_after);
  }

  std::vector<std::string> lines() const {
    const std::lock_guard lock{mutex_};
    return lines_;
  }
  /// The lines that begin so, in order.
  std::vector<std::string> lines(std::string_view prefix) const {
    auto all = lines();
    std::erase_if(all, [prefix](const std::string& line) { return !line.starts_with(prefix); });
    return all;
  }
  std::vector<telemetry_record> records() const {
    const std::lock_guard lock{mutex_};
    return records_;
  }
  std::uint64_t dropped_rows() const {
    const std::lock_guard lock{mutex_};
    return dropped_rows_;
  }
  /// The waits of the refusals.
  std::vector<std::optional<duration>> waits() const {
    const std::lock_guard lock{mutex_};
    return waits_;
  }
  void clear() {
    const std::lock_guard lock{mutex_};
    lines_.clear();
    records_.clear();
    waits_.clear();
    dropped_rows_ = 0;
  }

private:
  static std::string join(std::string_view kind, std::initializer_list<std::string_view> words) {
    std::string line{kind};
    for (const auto word : words) {
      line += ' ';
      line += word;
    }
    return line;
  }
  static std::string arrow(std::string_view from, std::string_view to) {
    return std::string{from} + ">" + std::string{to};
  }
  static std::string_view name_of(outcome what) {
    constexpr std::string_view names[] = {"success", "slow_success", "failure", "neutral", "cancelled", "hanging"};
    return names[static_cast<int>(what)];
  }

  static std::string text(const circuit_state_event& e) {
    return join("state", {e.circuit, arrow(to_string(e.from), to_string(e.to)), e.reason});
  }
  static std::string text(const circuit_mode_event& e) { return join("mode", {e.circuit, to_string(e.mode)}); }
  static std::string text(const circuit_rates_event& e) {
    return join("rates", {e.circuit, e.failure_rate ? "known" : "unknown"});
  }
  static std::string text(const circuit_refused_event& e) { return join("refused", {e.circuit, e.request_id}); }
  static std::string text(const breaker_restarted_event& e) { return join("restarted", {e.circuit}); }
  static std::string text(const attempt_event& e) {
    return join("attempt",
                {e.row.route, e.row.failure ? to_string(*e.row.failure) : "success", e.retry ? "retry" : "first"});
  }
  static std::string text(const fallback_event& e) { return join("fallback", {arrow(e.from, e.to), to_string(e.why)}); }
  static std::string text(const call_event& e) { return join("call", {e.provider, name_of(e.what)}); }
  static std::string text(const idempotency_event& e) { return join("idempotency", {e.result}); }
  static std::string text(const request_event& e) { return join("request", {e.record.request.request_id}); }
  static std::string text(const telemetry_dropped_event& e) { return join("dropped", {std::to_string(e.rows)}); }
  static std::string text(const reload_event& e) { return join("reload", {e.accepted ? "accepted" : "refused"}); }
  static std::string text(const health_event& e) { return join("health", {e.provider, e.score ? "known" : "unknown"}); }
  static std::string text(const budget_event& e) {
    const auto percent = [](std::string_view unit, const std::optional<double>& share) {
      return share ? std::string{unit} + "=" + std::to_string(std::lround(*share * 100)) + "%" : std::string{};
    };
    auto line = join("budget", {e.tenant, e.route});
    for (const auto& part : {percent("requests", e.requests), percent("tokens", e.tokens), percent("cost", e.cost)})
      line += part.empty() ? part : " " + part;
    return line;
  }

  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<telemetry_record> records_;
  std::vector<std::optional<duration>> waits_;
  std::uint64_t dropped_rows_ = 0;
};

} // namespace switchyard::test
