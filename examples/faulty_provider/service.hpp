#pragma once

// The provider itself: takes requests, keeps them as long as the script says, answers or fails.

#include "answers.hpp"
#include "behaviour.hpp"
#include "script.hpp"
#include "statistics.hpp"
#include "stream.hpp"

#include "switchyard/http/server.hpp"

#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace faulty {

namespace http = switchyard::http;

/// All functions belong to the one I/O thread, so there are no locks and a seed gives one sequence of events. Must
/// outlive the run of that thread.
///
///   arrives -> waits for its latency -> held, while `hold` is on -> answered, chunk by chunk when it is a stream
///
/// The client's leaving ends it at any point.
class service {
public:
  service(std::string name, script s, std::uint64_t seed);

  /// The server's handler.
  void handle(std::shared_ptr<http::exchange> exchange);

  const script& current_script() const noexcept { return script_; }
  /// From the next request on; streams that run go on as they began. Outages count their time from here.
  void replace_script(script s);
  void set_outage(std::optional<outage> o) { manual_ = std::move(o); }
  const std::optional<outage>& manual_outage() const noexcept { return manual_; }
  void hold() { holding_ = true; }
  /// Ends holding and answers all that were held, in order of arrival.
  void release();

  bool holding() const noexcept { return holding_; }
  std::size_t held() const noexcept;
  statistics& stats() noexcept { return statistics_; }

private:
  struct pending {
    std::shared_ptr<http::exchange> exchange;
    boost::asio::steady_timer timer;
    plan fate;
    call request{};
    std::shared_ptr<const stream_script> stream_rules; ///< in force when it arrived
    bool held = false;
    std::unique_ptr<stream> flow{}; ///< once begun
    std::string_view unsent{};      ///< a piece of it that its client's slowness keeps here
  };
  using number = std::uint64_t;

  void serve(operation what, std::shared_ptr<http::exchange> exchange);
  plan judge(const boost::system::result<call, std::string>& request);
  void wait(number id, duration d, void (service::*then)(number));
  void latency_over(number id);
  void answer(number id);
  void later(number id, duration d, void (service::*then)(number));

  // Streams, in service_stream.cpp.
  void begin_stream(number id);
  void continue_stream(number id);
  bool send(number id, pending& p, std::string_view piece);
  void end_stream(number id, stream::action how);

  void client_left(number id);
  pending take(number id);

  std::string name_;
  std::uint64_t seed_;
  script script_;
  std::shared_ptr<const stream_script> stream_rules_; ///< of `script_`, kept by the streams that run
  std::chrono::steady_clock::time_point loaded_;
  random_source random_;
  std::optional<outage> manual_;
  bool holding_ = false;
  statistics statistics_;
  number last_ = 0;
  std::map<number, pending> pending_; ///< by arrival
};

/// Replies with JSON.
void reply_json(http::exchange& exchange, int status, std::string body);
/// Replies with an error in the form of the API.
void reply_error(http::exchange& exchange, int status, std::string_view message, std::string_view code);

} // namespace faulty
