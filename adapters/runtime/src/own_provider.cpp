#include "own_provider.hpp"

#include "switchyard/http/io_threads.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <mutex>
#include <stdexcept>
#include <utility>

namespace switchyard::detail {

namespace {

// Stands between a provider and the listener. The lock is between the provider's threads and whoever cancels.
class relay : public attempt_listener, public std::enable_shared_from_this<relay> {
public:
  relay(boost::asio::io_context& home, std::shared_ptr<attempt_listener> listener)
      : home_(home), listener_(std::move(listener)) {}

  // A provider may answer after its attempt was cancelled, even after the runtime has gone: then nobody is there to be
  // told.
  void on_attempt_done(provider_result&& result) noexcept override {
    std::lock_guard lock{mutex_};
    if (!listener_)
      return;
    boost::asio::post(home_, [self = shared_from_this(), result = std::move(result)]() mutable {
      if (const auto listener = self->take())
        listener->on_attempt_done(std::move(result));
    });
  }

  void on_content(provider_result&& head) noexcept override {
    std::lock_guard lock{mutex_};
    if (!listener_)
      return;
    boost::asio::post(home_, [self = shared_from_this(), head = std::move(head)]() mutable {
      if (const auto listener = self->listener())
        listener->on_content(std::move(head));
    });
  }

  std::shared_ptr<attempt_listener> listener() noexcept {
    std::lock_guard lock{mutex_};
    return listener_;
  }
  std::shared_ptr<attempt_listener> take() noexcept {
    std::lock_guard lock{mutex_};
    return std::exchange(listener_, nullptr);
  }

private:
  boost::asio::io_context& home_;
  std::mutex mutex_;
  std::shared_ptr<attempt_listener> listener_; ///< until it was called or the attempt was cancelled
};

class relayed_attempt : public attempt_handle {
public:
  relayed_attempt(std::shared_ptr<relay> r, std::shared_ptr<attempt_handle> inner)
      : relay_(std::move(r)), inner_(std::move(inner)) {}

  void cancel() noexcept override {
    relay_->take();
    inner_->cancel();
  }
  bool responded() const noexcept override { return inner_->responded(); }
  bool sent() const noexcept override { return inner_->sent(); }
  void stream_to(std::shared_ptr<stream_sink> sink) noexcept override { inner_->stream_to(std::move(sink)); }
  stream_progress progress() const noexcept override { return inner_->progress(); }

private:
  std::shared_ptr<relay> relay_;
  std::shared_ptr<attempt_handle> inner_;
};

} // namespace

std::shared_ptr<attempt_handle> own_provider::start(provider_request request,
                                                    std::shared_ptr<attempt_listener> listener) {
  // An actor starts attempts too: to come back to any one I/O thread does no harm there.
  const auto between = std::make_shared<relay>(threads_.pick(), std::move(listener));
  auto inner = inner_->start(std::move(request), between);
  if (!inner)
    throw std::runtime_error{"it gave no handle"}; // which counts as an attempt that cannot start
  return std::make_shared<relayed_attempt>(between, std::move(inner));
}

} // namespace switchyard::detail
