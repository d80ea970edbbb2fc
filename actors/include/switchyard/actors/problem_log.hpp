#pragma once

#include "switchyard/actors/services.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard {

/// Logs what may keep going wrong, so that no traffic floods the log: the first time at once, then at most once a
/// minute for each thing that it is about, with the number of times that were left out. Thread-safe.
class problem_log {
public:
  static constexpr std::chrono::minutes pause{1};

  /// `about` tells problems apart, and each is remembered for ever: it comes from the program or the configuration,
  /// never from a request.
  void report(const services& to, time_point now, std::string_view about, std::string problem) {
    const auto left_out = admit(now, about);
    if (!left_out)
      return;
    if (*left_out != 0)
      problem.append(" (").append(std::to_string(*left_out)).append(" more since the last such line)");
    to.log(log_level::error, problem);
  }

private:
  struct told {
    time_point at{};
    std::uint64_t left_out = 0;
  };

  // How often it was left out since it was told last; nothing when it is to be left out now.
  std::optional<std::uint64_t> admit(time_point now, std::string_view about) {
    const std::lock_guard lock{mutex_};
    const auto found = last_.find(about);
    if (found == last_.end()) {
      last_.emplace(about, told{now});
      return 0;
    }
    if (now - found->second.at < pause) {
      ++found->second.left_out;
      return std::nullopt;
    }
    return std::exchange(found->second, told{now}).left_out;
  }

  std::mutex mutex_;
  std::map<std::string, told, std::less<>> last_;
};

} // namespace switchyard
