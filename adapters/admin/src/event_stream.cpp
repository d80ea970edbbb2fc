#include "event_stream.hpp"

#include "format.hpp"

#include "switchyard/json/json_text.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <atomic>
#include <utility>

namespace switchyard::admin {

namespace {

using std::chrono::seconds;

constexpr seconds heartbeat{15};
constexpr int waiting_limit = 1024; ///< events on their way to a stream's thread

} // namespace

class event_stream : public std::enable_shared_from_this<event_stream> {
public:
  event_stream(std::shared_ptr<http::exchange> x, std::weak_ptr<event_streams> owner)
      : exchange_(std::move(x)), timer_(exchange_->context()), owner_(std::move(owner)) {}

  /// On the stream's thread.
  void begin() {
    header_list headers;
    headers.add("Content-Type", "text/event-stream");
    headers.add("Cache-Control", "no-store");
    exchange_->begin(200, headers);
    exchange_->write(": switchyard events\n\n");
    exchange_->on_gone([self = shared_from_this()] { self->close(); });
    beat();
  }

  /// On any thread.
  void push(std::shared_ptr<const std::string> text) {
    if (waiting_.fetch_add(1, std::memory_order_relaxed) >= waiting_limit) {
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    boost::asio::post(timer_.get_executor(), [self = shared_from_this(), text = std::move(text)] {
      self->waiting_.fetch_sub(1, std::memory_order_relaxed);
      if (self->exchange_ && !self->exchange_->write(*text))
        self->cut();
    });
  }

private:
  void beat() {
    timer_.expires_after(heartbeat);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code failed) {
      if (failed || !self->exchange_)
        return;
      self->exchange_->write(": \n\n");
      self->beat();
    });
  }

  // It does not read: it may come back when it does.
  void cut() {
    const auto x = exchange_;
    close();
    x->abort();
  }

  void close() {
    exchange_.reset();
    timer_.cancel();
    if (const auto owner = owner_.lock())
      owner->remove(this);
  }

  std::shared_ptr<http::exchange> exchange_; ///< null once it is over; the stream's thread only
  boost::asio::steady_timer timer_;
  std::weak_ptr<event_streams> owner_;
  std::atomic<int> waiting_{0};
};

bool event_streams::add(const std::shared_ptr<http::exchange>& x) {
  auto stream = std::make_shared<event_stream>(x, weak_from_this());
  {
    std::lock_guard lock{mutex_};
    if (streams_.size() >= most_subscribers)
      return false;
    streams_.push_back(stream);
    if (!subscription_)
      subscription_ = engine_->observe(shared_from_this());
  }
  stream->begin();
  return true;
}

void event_streams::remove(const event_stream* gone) {
  std::shared_ptr<void> over; // ended outside the lock
  std::lock_guard lock{mutex_};
  std::erase_if(streams_, [&](const auto& s) { return s.get() == gone; });
  if (streams_.empty())
    over = std::exchange(subscription_, nullptr);
}

void event_streams::on_event(const event& e) noexcept {
  const auto [name, data] = to_json(e);
  if (name.empty())
    return;
  const auto text =
      std::make_shared<const std::string>("event: " + std::string{name} + "\ndata: " + to_json_text(data) + "\n\n");
  std::lock_guard lock{mutex_};
  for (const auto& s : streams_)
    s->push(text);
}

} // namespace switchyard::admin
