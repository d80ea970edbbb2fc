#pragma once

#include "switchyard/actors/services.hpp"

#include <optional>
#include <string>

namespace switchyard {

/// Logs what keeps going wrong, once a minute.
class problem_log {
public:
  void report(const services& to, time_point now, const std::string& problem) {
    if (reported_at_ && now - *reported_at_ < std::chrono::minutes{1})
      return;
    reported_at_ = now;
    to.log(log_level::error, problem);
  }

private:
  std::optional<time_point> reported_at_;
};

} // namespace switchyard
