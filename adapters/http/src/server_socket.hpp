#pragma once

// The one place that names the server's socket type. TLS on the listener replaces the alias and these functions.

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>

namespace switchyard::http {

// The executor is the io_context's own, not the type-erased default: no indirection in the path of every request.
using io_executor = boost::asio::io_context::executor_type;
using server_socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, io_executor>;
using server_acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, io_executor>;
using server_timer =
    boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                      io_executor>;

/// Sends what the system takes at once; the rest is for `async_write_some`. 0 and no error when it takes nothing.
template <class Buffers>
std::size_t send_now(server_socket& socket, const Buffers& buffers, boost::system::error_code& error) {
  const auto sent = socket.write_some(buffers, error);
  if (error == boost::asio::error::would_block || error == boost::asio::error::try_again)
    error = {};
  return sent;
}

/// Says that nothing more will be sent; reading goes on.
inline void shutdown_send(server_socket& socket) {
  boost::system::error_code ignored;
  socket.shutdown(server_socket::shutdown_send, ignored);
}

/// Makes the next close a reset, which no client takes for the end of a body.
inline void reset_on_close(server_socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(server_socket::linger(true, 0), ignored);
}

} // namespace switchyard::http
