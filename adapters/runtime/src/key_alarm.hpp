#pragma once

#include "switchyard/actors/services.hpp"
#include "switchyard/engine/events.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace switchyard {

/// Logs that a provider refuses the key it is given (401, 403): an operator must act. At most one line a minute for
/// each provider. Thread-safe.
class key_alarm : public event_sink {
public:
  explicit key_alarm(std::shared_ptr<const services> shared) : shared_(std::move(shared)) {}

  void on_event(const event& e) noexcept override;

private:
  std::shared_ptr<const services> shared_;
  std::mutex mutex_; ///< taken for refused keys only
  std::map<std::string, wall_time, std::less<>> last_;
};

} // namespace switchyard
