#include "stream_answer.hpp"

#include "answers.hpp"

#include <boost/asio/dispatch.hpp>

#include <limits>
#include <utility>

namespace switchyard::gateway {

namespace {

// One piece waits at a time, and its size is bounded where it comes from.
constexpr auto no_bound = std::numeric_limits<std::size_t>::max();

} // namespace

void stream_answer::on_begin(std::shared_ptr<const request_result> so_far) {
  boost::asio::dispatch(exchange_->context(), [self = shared_from_this(), so_far = std::move(so_far)] {
    self->exchange_->begin(so_far->content->status, result_headers(self->request_id_, *so_far));
  });
}

void stream_answer::on_bytes(std::string_view bytes, std::function<void(bool more)> taken) {
  boost::asio::dispatch(exchange_->context(), [self = shared_from_this(), bytes, taken = std::move(taken)]() mutable {
    self->write(bytes, std::move(taken));
  });
}

void stream_answer::write(std::string_view bytes, std::function<void(bool more)> taken) {
  if (exchange_->write(bytes, no_bound))
    exchange_->on_room([taken = std::move(taken)] { taken(true); });
  // else the client has gone, which cancels the request
}

void stream_answer::finish(const request_result& result) {
  if (!result.streamed)
    return reply_result(*exchange_, request_id_, result);
  if (!result.ok())
    exchange_->write(stream_error_event(operation_, request_id_, result), no_bound);
  exchange_->end();
}

} // namespace switchyard::gateway
