#include "client_attempt.hpp"

#include "client_connection.hpp"
#include "client_core.hpp"

#include <boost/asio/post.hpp>

namespace switchyard::http {

client_attempt::client_attempt(std::shared_ptr<client_core> core, std::size_t thread, time_point now,
                               provider_request request, std::shared_ptr<attempt_listener> listener)
    : core_(std::move(core)),
      context_(core_->pools[thread].context()),
      thread_(thread),
      limit_(plus(now, core_->timeouts.attempt)),
      request_(std::move(request)),
      listener_(std::move(listener)) {
  core_->pools[thread_].attempt_began();
}

client_attempt::~client_attempt() = default;

void client_attempt::bytes_came() noexcept {
  if (!result_.responded) {
    result_.responded = true;
    responded_.store(true, std::memory_order_relaxed);
  }
}

bool client_attempt::end() noexcept {
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(under_way_, false))
      return false;
  }
  core_->pools[thread_].attempt_ended();
  return true;
}

void client_attempt::finish() noexcept {
  if (!end())
    return;
  if (core_->inspect) {
    try {
      core_->inspect(request_, result_);
    } catch (...) { // a program's own function: its failure is this attempt's
      result_.error = transport_error::other;
      result_.error_detail = "the answer could not be inspected";
    }
  }
  tell();
}

void client_attempt::finish(transport_error error, std::string detail) noexcept {
  if (!end())
    return;
  result_.error = error;
  result_.error_detail = std::move(detail);
  // Half an answer is none.
  result_.status = 0;
  result_.headers.clear();
  result_.body = {};
  tell();
}

void client_attempt::tell() noexcept {
  if (const auto listener = std::move(listener_))
    listener->on_attempt_done(std::move(result_));
}

void client_attempt::abandon() noexcept {
  if (end())
    listener_.reset();
}

void client_attempt::cancel() noexcept {
  {
    std::lock_guard lock(mutex_);
    if (!under_way_)
      return;
    if (!context_.get_executor().running_in_this_thread()) {
      // Under the mutex the attempt cannot end, and so its context is there.
      if (!std::exchange(cancelled_, true))
        boost::asio::post(context_, [self = shared_from_this()] { self->cancel_here(); });
      return;
    }
  }
  cancel_here();
}

void client_attempt::cancel_here() noexcept {
  const auto self = shared_from_this(); // the connection and the listener may hold the last references
  if (auto* c = std::exchange(connection_, nullptr))
    c->abort();
  abandon();
}

} // namespace switchyard::http
