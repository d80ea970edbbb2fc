#include "fake_provider.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <utility>
#include <vector>

namespace {

using namespace switchyard;
using pool = boost::asio::thread_pool;

// What every attempt is: cancelled or not.
struct attempt : attempt_handle {
  std::atomic<bool> cancelled = false;
  void cancel() noexcept override { cancelled = true; }
  bool responded() const noexcept override { return false; }
};

provider_result answer_of(int status, const std::string& type) {
  provider_result result;
  result.sent = result.responded = true;
  result.status = status;
  result.headers.add("Content-Type", type);
  return result;
}

// A streamed answer: says that it has content, and sends the next event whenever the last one was taken.
class streaming_attempt : public attempt, public std::enable_shared_from_this<streaming_attempt> {
public:
  streaming_attempt(pool& threads, const std::string& text, std::shared_ptr<attempt_listener> listener)
      : threads_(threads), listener_(std::move(listener)) {
    for (std::size_t at = 0, end = 0; end != text.npos; at = end + 1) {
      end = text.find(' ', at);
      events_.push_back(R"(data: {"choices":[{"delta":{"content":")" + text.substr(at, end - at) + " \"}}]}\n\n");
    }
    events_.push_back("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
  }

  void start() {
    boost::asio::post(threads_, [self = shared_from_this()] {
      if (!self->cancelled)
        self->listener_->on_content(answer_of(200, "text/event-stream"));
    });
  }

  void stream_to(std::shared_ptr<stream_sink> sink) noexcept override {
    boost::asio::post(threads_, [self = shared_from_this(), sink = std::move(sink)] { self->send_next(sink); });
  }

private:
  void send_next(const std::shared_ptr<stream_sink>& sink) {
    if (cancelled)
      return;
    if (next_ == events_.size())
      return listener_->on_attempt_done(answer_of(200, "text/event-stream"));
    sink->on_bytes(events_[next_++], [self = shared_from_this(), sink](bool more) {
      if (more)
        boost::asio::post(self->threads_, [self, sink] { self->send_next(sink); });
    });
  }

  pool& threads_;
  std::shared_ptr<attempt_listener> listener_;
  std::vector<std::string> events_;
  std::size_t next_ = 0;
};

class fake_provider : public provider {
public:
  explicit fake_provider(std::string text) : text_(std::move(text)) {}
  ~fake_provider() override { threads_.join(); }

  std::shared_ptr<attempt_handle> start(provider_request request, std::shared_ptr<attempt_listener> listener) override {
    const bool fails = ++attempts_ % 3 == 0;
    if (request.stream && !fails) {
      auto started = std::make_shared<streaming_attempt>(threads_, text_, std::move(listener));
      started->start();
      return started;
    }
    auto started = std::make_shared<attempt>();
    boost::asio::post(threads_, [this, started, fails, listener = std::move(listener)] {
      if (started->cancelled)
        return;
      auto result = answer_of(fails ? 500 : 200, "application/json");
      if (fails)
        result.failure = failure_class::server_error;
      else
        result.body = R"({"choices":[{"message":{"role":"assistant","content":")" + text_ + R"("}}]})";
      listener->on_attempt_done(std::move(result));
    });
    return started;
  }

private:
  std::string text_;
  std::atomic<int> attempts_ = 0;
  pool threads_{1};
};

} // namespace

std::shared_ptr<switchyard::provider> make_fake_provider(std::string text) {
  return std::make_shared<fake_provider>(std::move(text));
}
