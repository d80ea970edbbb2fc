#pragma once

// A completion handler without its type: what lies between an Asio initiating function, which is a template, and an
// operation that is none.

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace switchyard {

/// The end of one asynchronous operation. The handler is called once, through its associated executor and never from
/// within the initiating function; until then the executor has outstanding work. Thread-safe.
///
/// The initiating function makes it, says with `on_cancel` what cancels the operation, starts that, and ends with
/// `initiated`. A handler without an executor of its own runs on the thread that completes, or on one of Asio's system
/// threads where that is not allowed.
template <class... Results>
class completion {
public:
  completion() = default;
  virtual ~completion() = default;
  completion(const completion&) = delete;
  completion& operator=(const completion&) = delete;

  /// Hands over the results; the handler may run before this returns. Only the first call of `complete` or `post`
  /// counts: returns whether this was it.
  bool complete(Results... results) {
    const bool in_place = initiated_.load(std::memory_order_acquire) || std::this_thread::get_id() != initiator_;
    return finish(in_place, std::move(results)...);
  }

  /// The same, but the handler never runs on this call's stack: for threads that must not run other people's code.
  bool post(Results... results) { return finish(false, std::move(results)...); }

  /// What to do when the operation's cancellation slot emits terminal or partial; called at most once, at once if that
  /// has happened already.
  void on_cancel(std::function<void()> cancel) {
    {
      std::lock_guard lock{mutex_};
      if (!cancelled_) {
        cancel_ = std::move(cancel);
        return;
      }
    }
    cancel();
  }

  /// The initiating function is done.
  void initiated() noexcept { initiated_.store(true, std::memory_order_release); }

protected:
  virtual void deliver(bool in_place, Results... results) = 0;

  void cancel() {
    std::function<void()> what;
    {
      std::lock_guard lock{mutex_};
      if (std::exchange(cancelled_, true))
        return;
      what = std::exchange(cancel_, nullptr);
    }
    if (what)
      what();
  }

private:
  bool finish(bool in_place, Results... results) {
    if (completed_.exchange(true, std::memory_order_acq_rel))
      return false;
    deliver(in_place, std::move(results)...);
    return true;
  }

  const std::thread::id initiator_ = std::this_thread::get_id();
  std::atomic<bool> initiated_{false};
  std::atomic<bool> completed_{false};
  std::mutex mutex_; ///< between who sets `cancel_` and who cancels
  bool cancelled_ = false;
  std::function<void()> cancel_;
};

namespace detail {

template <class Handler, class... Results>
class completion_of final : public completion<Results...>,
                            public std::enable_shared_from_this<completion_of<Handler, Results...>> {
public:
  explicit completion_of(Handler&& handler)
      : handler_(std::move(handler)),
        slot_(boost::asio::get_associated_cancellation_slot(*handler_)),
        work_(boost::asio::get_associated_executor(*handler_)) {}

  /// A slot belongs to the handler's executor, on which the initiating function runs too.
  void connect() {
    if (!slot_.is_connected())
      return;
    slot_.assign([weak = this->weak_from_this()](boost::asio::cancellation_type type) {
      using boost::asio::cancellation_type;
      if ((type & (cancellation_type::terminal | cancellation_type::partial)) == cancellation_type::none)
        return;
      if (const auto self = weak.lock())
        self->cancel();
    });
  }

private:
  using executor = boost::asio::associated_executor_t<Handler>;
  using slot = boost::asio::associated_cancellation_slot_t<Handler>;

  void deliver(bool in_place, Results... results) override {
    const auto ex = work_.get_executor();
    const auto allocator = boost::asio::get_associated_allocator(*handler_);
    auto call = boost::asio::bind_allocator(
        allocator, [self = this->shared_from_this(), ... results = std::move(results)]() mutable {
          if (self->slot_.is_connected())
            self->slot_.clear();
          auto handler = *std::exchange(self->handler_, std::nullopt);
          self->work_.reset();
          self.reset();
          std::move(handler)(std::move(results)...);
        });
    if (in_place)
      boost::asio::dispatch(ex, std::move(call));
    else
      boost::asio::post(ex, std::move(call));
  }

  std::optional<Handler> handler_; ///< until it is called
  slot slot_;
  boost::asio::executor_work_guard<executor> work_;
};

} // namespace detail

/// To be called by an initiating function, with the handler that it was given.
template <class... Results, class Handler>
std::shared_ptr<completion<Results...>> make_completion(Handler handler) {
  auto made = std::make_shared<detail::completion_of<Handler, Results...>>(std::move(handler));
  made->connect();
  return made;
}

} // namespace switchyard
