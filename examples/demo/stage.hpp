#pragma once

// The processes of the demo, and what can be asked of them.

#include "http_call.hpp"
#include "process.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace demo {

struct programs {
  std::string gateway, provider;
};

/// The circuit of the demo's configuration.
inline constexpr int threshold = 5;
inline constexpr std::chrono::milliseconds cooldown{2000};

/// Two providers and the gateway in front of them.
class stage {
public:
  explicit stage(const programs& p);

  /// A chat request through the gateway.
  answer ask(const std::map<std::string, std::string>& headers = {}) const;
  /// Many at once.
  std::vector<answer> ask_at_once(int count, const std::map<std::string, std::string>& headers = {}) const;

  void control_primary(const std::string& command) const;
  boost::json::object stats(bool primary) const;
  std::int64_t requests(bool primary) const;
  /// How many requests the primary has taken and not yet answered.
  std::int64_t held_by_primary() const;

  /// State of the primary's circuit.
  std::string circuit_state() const;
  /// Polls until `seen` holds; false when it did not within the limit.
  static bool eventually(const std::function<bool()>& seen, std::chrono::seconds limit = std::chrono::seconds{10});

  const std::string& gateway() const noexcept { return gateway_url_; }

private:
  std::string write_config() const;

  temporary_folder folder_;
  std::unique_ptr<process> primary_, backup_, gateway_;
  std::string primary_url_, backup_url_, gateway_url_, admin_url_;
};

} // namespace demo
