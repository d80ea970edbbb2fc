#pragma once

#include "server_answer.hpp"
#include "server_connection.hpp"
#include "server_socket.hpp"
#include "switchyard/http/server.hpp"

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard::http {

/// What all workers of a server share. Constant but for options and count, until every worker has ended.
struct server_shared {
  std::atomic<std::shared_ptr<const server_options>> options;
  handler on_request;
  refusal_formatter on_refusal;
  std::atomic<std::size_t> connections{0};
};

/// A server's part on one I/O thread: its acceptor and its connections.
class server_worker : public std::enable_shared_from_this<server_worker> {
public:
  server_worker(boost::asio::io_context& context, std::shared_ptr<server_shared> shared, server_acceptor acceptor);

  using action = void (server_worker::*)();

  /// Does `what` where nothing else touches the worker: on its I/O thread, or here when that has not begun or was
  /// stopped. With `wait` it returns when that is done; without, for callers that are I/O threads themselves, at once.
  void perform(action what, bool wait);

  void begin(); ///< accepts from now on; the first thing to happen on the I/O thread
  void stop_accepting();
  void drain();
  void finish_drain() { close_idle(drains_); } ///< for who waits for `drain`, which itself goes on when it returns
  void close_all();
  void take_options() { options_ = shared_->options.load(); }
  void shut_down(); ///< stops accepting and closes everything, for good

  // For connections, on the I/O thread.
  void remove(connection& closed) noexcept;
  const server_options& options() const noexcept { return *options_; }
  bool draining() const noexcept { return drains_ > 0; }
  unsigned drains() const noexcept { return drains_; } ///< how often it was told to drain
  std::string_view date() { return date_.at(std::chrono::system_clock::now()); }
  void handle(std::shared_ptr<exchange> x) { shared_->on_request(std::move(x)); }
  /// The answer to a refused request; without fields and body should the formatter throw.
  std::pair<header_list, std::string> format(const refusal& why) noexcept;
  boost::asio::io_context& context() noexcept { return context_; }

private:
  bool perform_here(action what);
  bool on_own_thread() const noexcept { return context_.get_executor().running_in_this_thread(); }
  void accept();
  void on_accept(const boost::system::error_code& error, server_socket socket);
  bool take_place() noexcept;
  void admit(server_socket socket);
  void turn_away(server_socket socket);
  void pause();
  void close_idle(unsigned drain);

  boost::asio::io_context& context_;
  std::shared_ptr<server_shared> shared_;
  std::shared_ptr<const server_options> options_;
  server_acceptor acceptor_;
  server_timer pause_;
  std::list<std::shared_ptr<connection>> connections_;
  date_text date_;
  unsigned drains_ = 0;
  bool ended_ = false;
  std::mutex mutex_;   ///< guards `begun_`, and with it everything before the I/O thread has begun
  bool begun_ = false; ///< from now on the I/O thread owns all the rest
};

} // namespace switchyard::http
