#pragma once

// One connection to a provider, and the exchange that runs on it. Lives on one I/O thread.
//
//                  +---------+   replaced [R7]
//                  v         |
//   connecting -> sending -> awaiting -> idle -> checking -> sending ...
//        |           |          |          |        |
//        +-----------+----------+----------+--------+--> closed
//
// A read is pending from before the request is written until the answer is whole, so an early answer is seen. A kept
// connection is checked by the same read: it is begun first, and the request is written one step later, if nothing
// came. Only a connection that has been idle for a while is watched, which saves a system call for each busy one.
//
// Each connection has one timer, always pending, whose handler owns it. It is set again only for an earlier limit; when
// it fires it looks at the limit that holds by then. So a request costs no timer operation.

#include "client_answer.hpp"
#include "client_attempt.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace switchyard::http {

class client_core;
class connection_pool;

class client_connection : public std::enable_shared_from_this<client_connection> {
public:
  using tcp = boost::asio::ip::tcp;
  using error_code = boost::system::error_code;

  client_connection(client_core& core, connection_pool& pool);
  client_connection(const client_connection&) = delete;
  client_connection& operator=(const client_connection&) = delete;
  virtual ~client_connection();

  /// Connects, then runs the attempt.
  void open(attempt_ref attempt);
  /// Runs the attempt on a connection that was idle.
  void reuse(attempt_ref attempt);
  /// Closes: the attempt is cancelled.
  void abort() noexcept;
  void close() noexcept;

  // ---- for its attempt ----
  /// The stream has room again.
  void resume();
  void fail_attempt(transport_error error, std::string detail);

  // ---- for the pool ----
  /// Ends being idle; false when the provider has closed it or sent something, and then it is closed.
  bool leave_pool() noexcept;
  void on_addresses(const error_code& ec, const std::vector<tcp::endpoint>& addresses);

protected:
  using request_buffers = std::array<boost::asio::const_buffer, 2>;

  // What differs between plain and TLS. Each ends in one call of the function named, never from within for `receive`.
  virtual tcp::socket& socket() noexcept = 0;
  virtual void secure() = 0;                                   ///< on_secured
  virtual void send(const request_buffers& head_and_body) = 0; ///< on_sent
  virtual void receive(boost::asio::mutable_buffer into) = 0;  ///< on_received

  void on_secured(const error_code& ec, transport_error error, std::string detail);
  /// `none`: not a byte of the request has left.
  void on_sent(const error_code& ec, bool none);
  void on_received(const error_code& ec, std::size_t n);

  template <class Self>
  std::shared_ptr<Self> self(Self* that) {
    return std::static_pointer_cast<Self>(that->shared_from_this());
  }

  client_core& core() const noexcept { return *core_; }

private:
  enum class phase : std::uint8_t { connecting, checking, sending, awaiting, idle, closed };

  // steps of an exchange
  void on_connected(const error_code& ec);
  void begin_exchange();
  void begin_read();
  void begin_send();
  void read_on();
  void go_on();
  bool flows();
  void on_stream_bytes();
  void on_end_of_stream(const error_code& ec);
  void complete();
  void fail(transport_error error, std::string detail = {});
  void replace();
  attempt_ref take_attempt() noexcept;

  // time limits
  std::optional<duration> first_byte_limit() const noexcept;
  time_point due() const noexcept;
  void schedule();
  void on_timer();
  void on_idle_timer();
  void expire(time_point now);

  const std::shared_ptr<client_core> core_;
  connection_pool& pool_;
  boost::asio::steady_timer timer_;
  time_point timer_at_ = time_point::max(); ///< when the timer fires
  std::uint32_t timer_round_ = 0;           ///< tells apart the waits of one timer

  phase phase_ = phase::connecting;
  bool reused_ = false;
  bool sending_ = false; ///< the request is not wholly written yet
  bool reading_ = false; ///< a read is pending
  bool paused_ = false;  ///< no read is pending, as the stream is full
  bool watched_ = false; ///< this idle time's watch has begun
  transport_error limit_error_ = transport_error::connect_timeout;
  time_point limit_ = time_point::max();   ///< of the phase
  std::optional<time_point> linger_until_; ///< the stream's own end has come, that of its body may take so long
  time_point idle_since_{};
  std::size_t read_size_;

  attempt_ref attempt_;
  client_answer answer_;
  std::string head_;
  boost::beast::flat_buffer buffer_;
};

/// A connection of the kind that the provider needs; not yet open.
std::shared_ptr<client_connection> make_connection(client_core& core, connection_pool& pool);
std::shared_ptr<client_connection> make_tls_connection(client_core& core, connection_pool& pool);

} // namespace switchyard::http
