#include "key_alarm.hpp"

#include <variant>

namespace switchyard {

void key_alarm::on_event(const event& e) noexcept {
  const auto* attempt = std::get_if<attempt_event>(&e);
  if (!attempt || attempt->row.failure != failure_class::auth)
    return;
  const auto now = shared_->wall_clock();
  {
    std::lock_guard lock{mutex_};
    const auto [last, first] = last_.try_emplace(attempt->row.provider, now);
    if (!first && now - last->second < std::chrono::minutes{1} && now >= last->second)
      return;
    last->second = now;
  }
  shared_->log(log_level::error, "provider " + attempt->row.provider + " refuses its key: HTTP " +
                                     std::to_string(attempt->row.status.value_or(0)) + ", request " +
                                     std::string{attempt->request_id});
}

} // namespace switchyard
