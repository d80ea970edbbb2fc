#pragma once

// What a connection reads from and writes to: a socket, with or without TLS. Which of them is decided once for each
// system call, not for each byte, and a stream without TLS does what the socket does.

#include "server_socket.hpp"
#include "server_tls.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <poll.h>
#include <utility>

namespace switchyard::http {

/// Stays where it is. Not thread-safe.
class server_stream {
public:
  /// `socket` must be non-blocking. Without `tls` a plain stream.
  server_stream(server_socket socket, const server_tls* tls) : socket_(std::move(socket)) {
    if (tls != nullptr)
      tls_ = std::make_unique<tls_session>(*tls, socket_);
  }
  server_stream(const server_stream&) = delete;
  server_stream& operator=(const server_stream&) = delete;

  bool has_tls() const noexcept { return tls_ != nullptr; }
  /// A step of the handshake; `async_ready_to_read` says when the next may be tried. Only with TLS.
  tls_session::progress shake_hands() { return tls_->shake_hands(); }
  /// Goes on without TLS: what is sent from now on is sent as it is.
  void give_up_tls() noexcept { tls_.reset(); }

  /// Calls `callback(error)` when there may be something to read.
  template <class Callback>
  void async_ready_to_read(Callback callback) {
    socket_.async_wait(tls_ ? tls_->waits_for_reading() : server_socket::wait_read, std::move(callback));
  }

  /// Calls `callback(error, bytes)`. `would_block` means that `read_now` may have something: bytes that TLS has decoded
  /// are never on their way in a callback, where nobody would see them.
  template <class Callback>
  void async_read_some(boost::asio::mutable_buffer into, Callback callback) {
    if (!tls_)
      return socket_.async_read_some(into, std::move(callback));
    if (tls_->can_read())
      return post_retry(std::move(callback));
    async_ready_to_read(retry(std::move(callback)));
  }
  /// 0 and `would_block` when there is nothing.
  std::size_t read_now(boost::asio::mutable_buffer into, boost::system::error_code& error) {
    return tls_ ? tls_->read(into, error) : socket_.read_some(into, error);
  }

  using buffers = std::array<boost::asio::const_buffer, 2>;
  /// Sends what the system takes at once; the rest is for `async_write_some`. 0 and no error when it takes nothing.
  std::size_t send_now(const buffers& bytes, boost::system::error_code& error) {
    if (tls_)
      return tls_->write(bytes, error);
    const auto sent = socket_.write_some(bytes, error);
    if (error == boost::asio::error::would_block || error == boost::asio::error::try_again)
      error = {};
    return sent;
  }
  /// Calls `callback(error, bytes)`. `would_block` means that `send_now` may be tried, with the same bytes first.
  template <class Callback>
  void async_write_some(const buffers& bytes, Callback callback) {
    if (!tls_)
      return socket_.async_write_some(bytes, std::move(callback));
    socket_.async_wait(tls_->waits_for_writing(), retry(std::move(callback)));
  }

  /// Bytes have come that were not read yet.
  bool has_input() const {
    boost::system::error_code error;
    return (tls_ && tls_->has_pending()) || (socket_.available(error) > 0 && !error);
  }
  /// The client has closed the connection or its sending half, or reset it, whatever of its bytes is still unread.
  bool peer_has_left() {
    pollfd look{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

  /// Says that nothing more will be sent; reading goes on.
  void shutdown_send() {
    if (tls_)
      tls_->end_writing();
    boost::system::error_code ignored;
    socket_.shutdown(server_socket::shutdown_send, ignored);
  }
  /// Makes the close a reset, which no client takes for the end of a body.
  void reset_on_close() {
    resets_ = true;
    boost::system::error_code ignored;
    socket_.set_option(server_socket::linger(true, 0), ignored);
  }
  void close() {
    if (tls_ && !resets_)
      tls_->end_writing();
    boost::system::error_code ignored;
    socket_.close(ignored); // the destructor alone would undo `reset_on_close`
  }

private:
  template <class Callback>
  static auto retry(Callback callback) {
    return [callback = std::move(callback)](const boost::system::error_code& error) mutable {
      callback(error ? error : boost::system::error_code{boost::asio::error::would_block}, 0);
    };
  }
  template <class Callback>
  void post_retry(Callback callback) {
    boost::asio::post(socket_.get_executor(), [again = retry(std::move(callback))]() mutable { again({}); });
  }

  server_socket socket_;
  std::unique_ptr<tls_session> tls_;
  bool resets_ = false;
};

} // namespace switchyard::http
