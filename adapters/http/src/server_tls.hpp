#pragma once

// The server's side of TLS: what all connections share, and the state of one of them.

#include "server_socket.hpp"
#include "switchyard/http/server.hpp"

#include <boost/asio/buffer.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <openssl/ssl.h>

namespace switchyard::http {

/// Certificate, key and rules. Thread-safe.
class server_tls {
public:
  explicit server_tls(SSL_CTX* context) noexcept : context_(context) {}
  SSL_CTX* context() const noexcept { return context_.get(); }

private:
  struct deleter {
    void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  };
  std::unique_ptr<SSL_CTX, deleter> context_;
};

/// TLS over a non-blocking socket, which must stay where it is. Nothing here waits: a function that cannot go on says
/// `would_block`, and `waits_for_...` says for what. Not thread-safe.
class tls_session {
public:
  /// Fails with `std::bad_alloc`.
  tls_session(const server_tls& shared, server_socket& socket);

  enum class progress {
    done,
    blocked, ///< call again when `waits_for_reading` allows
    not_tls, ///< the client speaks something else; none of its bytes was taken
    failed   ///< refused or lost; an alert has been sent where there is one
  };
  progress shake_hands();

  /// `eof` when the client has ended its sending in good order; `connection_reset` for anything else that ends it.
  std::size_t read(boost::asio::mutable_buffer into, boost::system::error_code& error);
  /// Writes what the socket takes, up to a bound: 0 and no error when it takes nothing. After a call that left bytes
  /// the next one must begin with them.
  std::size_t write(const std::array<boost::asio::const_buffer, 2>& bytes, boost::system::error_code& error);
  /// Tells the client that nothing more comes, as far as the socket takes it.
  void end_writing() noexcept;

  /// Bytes have been received and not yet been read; they may still lack the rest of their record.
  bool has_pending() const noexcept { return SSL_has_pending(ssl_.get()) == 1; }
  /// `read` need not wait for the socket.
  bool can_read() const noexcept { return !starved_ && has_pending(); }
  server_socket::wait_type waits_for_reading() const noexcept { return read_wait_; }
  server_socket::wait_type waits_for_writing() const noexcept { return write_wait_; }

private:
  struct deleter {
    void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  };
  bool speaks_tls(boost::system::error_code& error);
  boost::system::error_code failure(int result, server_socket::wait_type& wait) noexcept;

  server_socket& socket_;
  std::unique_ptr<SSL, deleter> ssl_;
  server_socket::wait_type read_wait_ = server_socket::wait_read;
  server_socket::wait_type write_wait_ = server_socket::wait_write;
  bool starved_ = false; ///< the last read wanted more than had been received
  bool begun_ = false;   ///< the client's first byte was looked at
  bool usable_ = false;  ///< the handshake is done and nothing has failed since
};

} // namespace switchyard::http
