#include "inline_request.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <caf/send.hpp>

#include <utility>
#include <variant>

namespace switchyard {

inline_request::inline_request(boost::asio::io_context& io, std::shared_ptr<const request_environment> environment,
                               bulkhead::slot slot, result_callback on_done)
    : io_(io), timer_(io), environment_(std::move(environment)), slot_(std::move(slot)), on_done_(std::move(on_done)) {}

void inline_request::start(request_spec spec) {
  // The runner may end on an actor's thread; the result always comes back to this one.
  auto on_done = [self = shared_from_this()](std::shared_ptr<const request_result> result) {
    if (self->feeding_)
      self->result_ =
          std::move(result); // handed out once the runner is at rest: the caller may cancel, or submit again
    else
      boost::asio::post(self->io_, [self, result = std::move(result)]() mutable { self->finished(std::move(result)); });
  };
  const auto at = now();
  runner_ = std::make_unique<request_runner>(std::move(spec), environment_, std::move(on_done), at);
  feed([&] { return runner_->feed(flow_input::begin{}, at, listener()); });
}

listener_factory inline_request::listener() {
  return [this] { return shared_from_this(); };
}

// What comes while the runner is at work (a receiver may end its stream from within) waits for it to be at rest.
template <class F>
bool inline_request::later(F input) {
  if (feeding_)
    boost::asio::post(io_, [self = shared_from_this(), input = std::move(input)]() mutable { input(*self); });
  return feeding_;
}

void inline_request::on_attempt_done(provider_result&& result) noexcept {
  if (feeding_) {
    const auto kept = std::make_shared<provider_result>(std::move(result));
    later([kept](inline_request& me) { me.on_attempt_done(std::move(*kept)); });
    return;
  }
  feed([&] { return runner_->attempt_done(std::move(result), now(), listener()); });
}

void inline_request::on_content(provider_result&& head) noexcept {
  feed([&] { return runner_->content_begun(std::move(head), now(), listener()); });
}

// Feeds the runner, if it is still here, and does what it asks for. Not within the runner's own doing.
template <class F>
void inline_request::feed(F input) {
  if (!runner_ || feeding_)
    return;
  feeding_ = true;
  const auto wish = input();
  feeding_ = false;
  go_on(wish);
}

void inline_request::go_on(const runner_request& wish) {
  if (!std::holds_alternative<std::monostate>(wish)) {
    timer_.cancel();
    armed_.reset();
    actor_ = spawn_request(*environment_->system, std::move(runner_), wish);
    return;
  }
  if (!runner_->done())
    return arm_timer();
  runner_.reset();
  if (auto result = std::exchange(result_, nullptr))
    finished(std::move(result));
}

// A timer that is set earlier than needed is left alone: it looks again when it fires.
void inline_request::arm_timer() {
  const auto wake = runner_->wake_at();
  if (!wake || (armed_ && *armed_ <= *wake))
    return;
  armed_ = wake;
  timer_.expires_at(*wake);
  timer_.async_wait([self = shared_from_this()](boost::system::error_code failed) {
    if (failed)
      return;
    self->armed_.reset();
    self->feed([&] { return self->runner_->timer(now(), self->listener()); });
  });
}

void inline_request::cancel() {
  boost::asio::dispatch(io_, [self = shared_from_this()] { self->leave(false); });
}

void inline_request::force_end() {
  leave(true);
}

void inline_request::leave(bool force) {
  if (later([force](inline_request& me) { me.leave(force); }))
    return;
  if (actor_)
    caf::anon_send(actor_, cancel_request{force});
  else
    feed([&] { return runner_->cancel(force, now(), listener()); });
}

void inline_request::finished(std::shared_ptr<const request_result> result) {
  timer_.cancel();
  actor_ = request_actor{};
  unlink();
  slot_.release(); // is free for the next request before the caller can see this one's answer
  if (auto on_done = std::exchange(on_done_, nullptr))
    on_done(std::move(result));
}

} // namespace switchyard
