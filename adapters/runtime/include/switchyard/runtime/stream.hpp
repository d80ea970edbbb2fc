#pragma once

// A sink for `runtime::async_stream`, made of coroutines.

#include "switchyard/actors/request_result.hpp"
#include "switchyard/actors/stream.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace switchyard {

/// Called with the head of a stream before its first piece: status, headers, who serves; `content` has no body.
using stream_begin = std::function<void(const request_result& so_far)>;

/// Takes one piece, whole events; the bytes stay until it is done. While it runs no other piece comes, and after a
/// bound the provider is read no further [S5]. What it throws ends the request, as if its caller had left.
using stream_piece = std::function<boost::asio::awaitable<void>(std::string_view bytes)>;

namespace detail {

template <class Executor>
class coroutine_sink final : public stream_receiver, public std::enable_shared_from_this<coroutine_sink<Executor>> {
public:
  coroutine_sink(Executor executor, stream_begin begin, stream_piece piece)
      : executor_(std::move(executor)), begin_(std::move(begin)), piece_(std::move(piece)) {}

  void on_begin(std::shared_ptr<const request_result> so_far) override {
    boost::asio::post(executor_, [self = this->shared_from_this(), so_far = std::move(so_far)] {
      try {
        if (self->begin_)
          self->begin_(*so_far);
      } catch (...) { // told with the first piece
        self->failed_ = true;
      }
    });
  }

  void on_bytes(std::string_view bytes, std::function<void(bool more)> taken) override {
    boost::asio::co_spawn(
        executor_,
        [self = this->shared_from_this(), bytes]() -> boost::asio::awaitable<void> {
          if (self->failed_)
            throw std::runtime_error{"the stream was not begun"};
          return self->piece_(bytes);
        },
        [taken = std::move(taken)](const std::exception_ptr& failed) { taken(failed == nullptr); });
  }

private:
  Executor executor_;
  stream_begin begin_;
  stream_piece piece_;
  bool failed_ = false; ///< touched on the executor only
};

} // namespace detail

/// A sink whose functions all run on `executor`, which must run one thing at a time (a strand, or an io_context run by
/// one thread). `begin` may be empty. They are kept until the request has ended.
template <class Executor>
std::shared_ptr<stream_receiver> make_sink(Executor executor, stream_begin begin, stream_piece piece) {
  return std::make_shared<detail::coroutine_sink<Executor>>(std::move(executor), std::move(begin), std::move(piece));
}

} // namespace switchyard
