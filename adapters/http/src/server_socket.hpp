#pragma once

// The server's types of sockets and timers.

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>

namespace switchyard::http {

// The executor is the io_context's own, not the type-erased default: no indirection in the path of every request.
using io_executor = boost::asio::io_context::executor_type;
using server_socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, io_executor>;
using server_acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, io_executor>;
using server_timer =
    boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                      io_executor>;

} // namespace switchyard::http
