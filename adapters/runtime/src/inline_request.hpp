#pragma once

// A request on its way through an I/O thread. As long as nobody has to be asked the flow runs right here, without a
// message; when it must wait for another actor, a request actor takes the runner over and this object only passes on
// the caller's leaving.

#include "switchyard/actors/provider.hpp"
#include "switchyard/actors/request.hpp"
#include "switchyard/actors/request_runner.hpp"
#include "switchyard/engine/bulkhead.hpp"
#include "switchyard/runtime/core.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace switchyard {

using result_callback = std::function<void(std::shared_ptr<const request_result>)>;

class inline_request final
    : public request_handle,
      public attempt_listener,
      public std::enable_shared_from_this<inline_request>,
      public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
  inline_request(boost::asio::io_context& io, std::shared_ptr<const request_environment> environment,
                 bulkhead::slot slot, result_callback on_done);

  /// On the I/O thread: begins.
  void start(request_spec spec);

  void cancel() override;

  /// On the I/O thread: ends the request whatever it is doing (shutdown).
  void force_end();

  void on_attempt_done(provider_result&& result) noexcept override;
  void on_content(provider_result&& head) noexcept override;

private:
  static time_point now() { return std::chrono::steady_clock::now(); }
  listener_factory listener();
  template <class F>
  void feed(F input);
  template <class F>
  bool later(F input);
  void go_on(const runner_request& wish);
  void arm_timer();
  void leave(bool force);
  void finished(std::shared_ptr<const request_result> result);

  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;
  std::optional<time_point> armed_;
  std::shared_ptr<const request_environment> environment_;
  bulkhead::slot slot_; ///< of the requests under way
  result_callback on_done_;
  std::unique_ptr<request_runner> runner_;       ///< null once an actor has taken over, or done
  request_actor actor_;                          ///< who has taken over
  bool feeding_ = false;                         ///< the runner is at work, on this thread
  std::shared_ptr<const request_result> result_; ///< came while feeding
};

using request_list = boost::intrusive::list<inline_request, boost::intrusive::constant_time_size<false>>;

} // namespace switchyard
