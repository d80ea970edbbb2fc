#include "fake_provider.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <utility>

namespace {

struct attempt : switchyard::attempt_handle {
  std::atomic<bool> cancelled = false;
  void cancel() noexcept override { cancelled = true; }
  bool responded() const noexcept override { return false; }
};

class fake_provider : public switchyard::provider {
public:
  explicit fake_provider(std::string text) : text_(std::move(text)) {}
  ~fake_provider() override { pool_.join(); }

  std::shared_ptr<switchyard::attempt_handle> start(switchyard::provider_request,
                                                    std::shared_ptr<switchyard::attempt_listener> listener) override {
    auto started = std::make_shared<attempt>();
    const bool fails = ++attempts_ % 3 == 0;
    boost::asio::post(pool_, [this, started, fails, listener = std::move(listener)] {
      if (started->cancelled)
        return;
      switchyard::provider_result result;
      result.sent = result.responded = true;
      result.status = fails ? 500 : 200;
      result.headers.add("Content-Type", "application/json");
      if (fails)
        result.failure = switchyard::failure_class::server_error;
      else
        result.body = R"({"choices":[{"message":{"role":"assistant","content":")" + text_ + R"("}}]})";
      listener->on_attempt_done(std::move(result));
    });
    return started;
  }

private:
  std::string text_;
  std::atomic<int> attempts_ = 0;
  boost::asio::thread_pool pool_{1};
};

} // namespace

std::shared_ptr<switchyard::provider> make_fake_provider(std::string text) {
  return std::make_shared<fake_provider>(std::move(text));
}
