#pragma once

// The connections of one provider on one I/O thread: those kept for reuse, and the addresses to make new ones.
//
// The pool owns no connection. Each is owned by its own pending timer (client_connection.hpp) and so by its io_context:
// whatever the order in which providers, attempts and I/O threads go away, no socket outlives its context.

#include "switchyard/engine/time.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace switchyard::http {

class client_connection;
class client_core;

class connection_pool {
public:
  static constexpr std::size_t max_idle = 512;
  static constexpr duration max_idle_time = std::chrono::seconds{50};
  static constexpr duration address_time = std::chrono::seconds{30}; ///< how long resolved addresses are used

  connection_pool(client_core& core, boost::asio::io_context& context) : core_(core), context_(context) {}

  boost::asio::io_context& context() const noexcept { return context_; }

  // ---- any thread ----
  void attempt_began() noexcept { active_.fetch_add(1, std::memory_order_relaxed); }
  void attempt_ended() noexcept { active_.fetch_sub(1, std::memory_order_relaxed); }
  std::size_t active() const noexcept { return active_.load(std::memory_order_relaxed); }
  std::size_t idle() const noexcept { return idle_count_.load(std::memory_order_relaxed); }

  // ---- its I/O thread ----
  /// The connection used last of those that do not look closed, or none. It is not idle any more.
  std::shared_ptr<client_connection> take();
  /// Keeps a connection; false when there is no room.
  bool put(client_connection& c);
  /// Closes what is idle.
  void close_idle() noexcept;

  /// The provider's addresses, if they are known.
  const std::vector<boost::asio::ip::tcp::endpoint>* addresses(time_point now) const noexcept;
  /// Resolves the provider's name for a connection that waits; one look-up serves all who wait.
  void resolve(client_connection& c);
  /// No address answered: the next attempt resolves anew.
  void forget_addresses() noexcept { addresses_until_ = time_point::min(); }

  /// Forgets a connection that is closed.
  void remove(client_connection& c) noexcept;

private:
  void on_resolved(const boost::system::error_code& ec, const boost::asio::ip::tcp::resolver::results_type& found);

  client_core& core_;
  boost::asio::io_context& context_;
  std::vector<client_connection*> idle_; ///< the last is used first
  std::deque<client_connection*> waiters_;
  std::vector<boost::asio::ip::tcp::endpoint> addresses_;
  time_point addresses_until_ = time_point::min();
  bool resolving_ = false;
  // Written by many threads and read for figures: apart from what the I/O thread uses.
  alignas(64) std::atomic<std::size_t> active_{0};
  std::atomic<std::size_t> idle_count_{0};
};

} // namespace switchyard::http
