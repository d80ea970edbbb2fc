#include "event_stream.hpp"

#include "format.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/serialize.hpp>

#include <atomic>
#include <string>
#include <utility>

namespace switchyard::admin {

namespace {

using std::chrono::seconds;

constexpr seconds heartbeat{15};
constexpr int waiting_limit = 4096; ///< events on their way to the stream's thread

class event_stream : public event_sink, public std::enable_shared_from_this<event_stream> {
public:
  explicit event_stream(std::shared_ptr<http::exchange> x) : exchange_(std::move(x)), timer_(exchange_->context()) {}

  void begin(const std::shared_ptr<core>& engine) {
    header_list headers;
    headers.add("Content-Type", "text/event-stream");
    headers.add("Cache-Control", "no-store");
    exchange_->begin(200, headers);
    exchange_->write(": switchyard events\n\n");
    exchange_->on_gone([self = shared_from_this()] { self->close(); });
    subscription_ = engine->observe(shared_from_this());
    beat();
  }

  void on_event(const event& e) noexcept override {
    const auto [name, data] = to_json(e);
    if (name.empty())
      return;
    if (waiting_.fetch_add(1, std::memory_order_relaxed) >= waiting_limit) {
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
    auto text = "event: " + std::string{name} + "\ndata: " + boost::json::serialize(data) + "\n\n";
    boost::asio::post(timer_.get_executor(), [self = shared_from_this(), text = std::move(text)] {
      self->waiting_.fetch_sub(1, std::memory_order_relaxed);
      if (self->exchange_)
        self->exchange_->write(text);
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

  void close() {
    subscription_.reset();
    exchange_.reset();
    timer_.cancel();
  }

  std::shared_ptr<http::exchange> exchange_; ///< null once the client has left; the stream's thread only
  boost::asio::steady_timer timer_;
  std::shared_ptr<void> subscription_;
  std::atomic<int> waiting_{0};
};

} // namespace

void stream_events(const std::shared_ptr<core>& engine, const std::shared_ptr<http::exchange>& x) {
  std::make_shared<event_stream>(x)->begin(engine);
}

} // namespace switchyard::admin
