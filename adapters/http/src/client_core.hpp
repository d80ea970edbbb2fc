#pragma once

// What all attempts of one provider share. Kept alive by the provider and by everything under way.

#include "client_attempt.hpp"
#include "client_target.hpp"
#include "connection_pool.hpp"

#include "switchyard/http/client.hpp"

#include <boost/asio/ssl/context.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace switchyard::http {

inline time_point clock_now() noexcept {
  return std::chrono::steady_clock::now();
}

class client_core : public std::enable_shared_from_this<client_core> {
public:
  client_core(io_threads& threads, const provider_settings& settings, client_target where,
              std::optional<boost::asio::ssl::context> context, client_rules how);

  const client_target target;
  std::optional<boost::asio::ssl::context> tls; ///< for https
  const client_rules rules;
  const timeout_settings timeouts;
  const std::uint64_t max_response;
  std::deque<connection_pool> pools; ///< one per I/O thread
  std::atomic<bool> closing{false};  ///< the provider is gone: connections are kept no more

  /// Sends an attempt on its way. On its I/O thread.
  void begin(attempt_ref attempt);
};

} // namespace switchyard::http
