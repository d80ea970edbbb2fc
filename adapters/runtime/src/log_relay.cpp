#include "log_relay.hpp"

#include "switchyard/runtime/core.hpp"

#include <utility>

namespace switchyard::detail {

log_relay::log_relay(const void* owner, log_callback log) : callback_([](log_level, std::string_view) {}) {
  if (!log)
    return;
  lines_ = std::make_shared<background_queue<line>>(
      owner, core::log_queue, [log = std::move(log)](const line& next, std::uint64_t dropped) {
        if (dropped != 0)
          log(log_level::warning, std::to_string(dropped) + " log lines were dropped: the log is too slow");
        log(next.level, next.text);
      });
  callback_ = [lines = lines_](log_level level, std::string_view text) noexcept {
    try {
      lines->push({level, std::string{text}});
    } catch (...) { // NOLINT(bugprone-empty-catch): without memory for a line there is no line [C15]
    }
  };
}

log_relay::~log_relay() {
  close(std::chrono::steady_clock::now() + core::observer_patience);
}

void log_relay::close(std::chrono::steady_clock::time_point until) {
  if (lines_)
    lines_->close(background_queue<line>::ending::deliver, until);
}

} // namespace switchyard::detail
