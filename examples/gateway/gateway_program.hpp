#pragma once

#include "gateway_state.hpp"
#include "settings_source.hpp"

#include "switchyard/http/server.hpp"
#include "switchyard/runtime/core.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace switchyard::gateway {

/// Signals, by what they are for. They outlive the program.
struct program_signals {
  boost::asio::signal_set& stop;   ///< SIGINT, SIGTERM
  boost::asio::signal_set& reload; ///< SIGHUP
};

/// Both listeners, reloads, and the way to their end. Runs on the thread of `main`.
class gateway_program {
public:
  gateway_program(std::shared_ptr<core> engine, command_line line, std::shared_ptr<const http::server_tls> tls,
                  boost::asio::io_context& main, program_signals signals);

  /// False when an address cannot be listened on; the reason is logged.
  bool listen();

  /// Returns when a signal has ended the program.
  void run();

  /// After the I/O threads have stopped.
  void close();

private:
  http::server_options data_options(const config& c, std::shared_ptr<const http::server_tls> tls) const;
  /// `setting` is what gives its address, for a person.
  bool start(std::string_view setting, const http::server_options& options, http::handler handler,
             http::refusal_formatter format, std::shared_ptr<http::server>& server);
  void wait_for_reload();
  std::string reload();
  std::string take(loaded_settings loaded);
  void drain();
  void wait_until_idle();

  std::shared_ptr<core> engine_;
  command_line line_;
  std::shared_ptr<const http::server_tls> tls_;
  std::shared_ptr<gateway_state> state_;
  std::shared_ptr<http::server> data_, admin_;
  boost::asio::io_context& main_;
  program_signals signals_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point deadline_{};
  bool ended_ = false; ///< everything is answered, or out of time: nothing is to be waited for
};

} // namespace switchyard::gateway
