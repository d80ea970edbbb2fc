// 2_fallback: a request that one provider fails and another answers, without any network.
//
// A provider is an interface with one asynchronous function, `start`; those of a configuration are called over HTTP,
// and a program may bring its own. This one brings two: `hosted`, which answers 503, and `local`, which works. The
// route "chat" goes to the first and falls back on the second. The program submits three requests and prints, for each,
// who served it, how many calls that took, and what failed on the way:
//
//   1 and 2  `hosted` fails, `local` answers: two attempts, one fallback
//   3        the circuit of `hosted` has opened: it is not called any more, `local` answers at once
//
// and then one more with `fallback = false`, which gets the error itself, with its trail and the time to wait.
// It ends with status 0 when all of that was seen.

#include "switchyard/runtime/runtime.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;

// An attempt that ends as soon as the pool comes to it.
struct short_attempt : switchyard::attempt_handle {
  std::atomic<bool> cancelled = false;
  void cancel() noexcept override { cancelled = true; }
  bool responded() const noexcept override { return false; }
};

// A provider in this process: the same status and text for every request.
class fixed_provider : public switchyard::provider {
public:
  fixed_provider(boost::asio::thread_pool& pool, int status, std::string body)
      : pool_(pool), status_(status), body_(std::move(body)) {}

  std::shared_ptr<switchyard::attempt_handle> start(switchyard::provider_request request,
                                                    std::shared_ptr<switchyard::attempt_listener> listener) override {
    ++calls_;
    auto attempt = std::make_shared<short_attempt>();
    boost::asio::post(pool_, [this, attempt, request = std::move(request), listener = std::move(listener)] {
      if (attempt->cancelled)
        return;
      switchyard::provider_result result;
      result.sent = result.responded = true;
      result.status = status_;
      result.headers.add("Content-Type", "application/json");
      result.body = body_;
      if (status_ !=
          200) // what it means is for the provider to say; see switchyard/openai/body.hpp for the usual rules
        result.failure = switchyard::failure_class::server_error;
      listener->on_attempt_done(std::move(result));
    });
    return attempt;
  }

  int calls() const { return calls_; }

private:
  boost::asio::thread_pool& pool_;
  int status_;
  std::string body_;
  std::atomic<int> calls_ = 0;
};

switchyard::config make_config() {
  switchyard::config c;
  c.circuits["default"].consecutive_failures = 2;
  for (const auto* name : {"hosted", "local"}) {
    c.providers[name].name = name;
    c.providers[name].base_url = "http://localhost"; // never called: the program brings its own
  }
  auto& chat = c.routes["chat"];
  chat.provider = "hosted";
  chat.model = "large";
  chat.fallback = {"chat-local"};
  chat.retry.max_attempts = 1;
  auto& local = c.routes["chat-local"];
  local.provider = "local";
  local.model = "small";
  return c;
}

void print(const switchyard::submit_result& result) {
  if (result) {
    std::cout << result->body << "  (served by " << result->served_by.provider << "/" << result->served_by.model << ", "
              << result->attempts << " calls, " << result->fallbacks << " fallbacks)\n";
    return;
  }
  const auto& error = result.error();
  std::cout << "failed: " << to_string(error.code) << ": " << error.message << '\n';
  for (const auto& step : error.trail)
    std::cout << "  " << step.route << " -> " << step.provider << "/" << step.model << ": " << to_string(step.what)
              << ", " << step.message << '\n';
  if (error.retry_after)
    std::cout << "  try again in " << switchyard::ceil_ms(*error.retry_after) << " ms\n";
}

} // namespace

int main() {
  boost::asio::thread_pool pool{1};
  const auto hosted = std::make_shared<fixed_provider>(pool, 503, R"({"error":{"message":"down for maintenance"}})");
  const auto local = std::make_shared<fixed_provider>(pool, 200, R"({"choices":[{"message":{"content":"Hello!"}}]})");

  switchyard::core_options options;
  options.in_memory = true;
  options.providers = {{"hosted", hosted}, {"local", local}};
  auto started = switchyard::runtime::start(make_config(), std::move(options));
  if (!started) {
    std::cerr << started.error().message << '\n';
    return 1;
  }
  auto runtime = *std::move(started);

  switchyard::request request{"chat", R"({"messages":[{"role":"user","content":"Hi"}]})"};
  bool as_expected = true;
  for (int i = 1; i <= 3; ++i) {
    std::cout << "request " << i << ": ";
    const auto result = runtime.async_submit(request, boost::asio::use_future).get();
    print(result);
    as_expected = as_expected && result && result->served_by.provider == "local" && result->fallbacks == 1;
  }
  std::cout << "hosted was called " << hosted->calls() << " times, local " << local->calls() << " times\n";

  request.fallback = false;
  std::cout << "without fallback: ";
  const auto refused = runtime.async_submit(request, boost::asio::use_future).get();
  print(refused);
  as_expected =
      as_expected && hosted->calls() == 2 && !refused && refused.error().code == switchyard::errc::circuit_open;

  runtime.stop(1s);
  pool.join();
  return as_expected ? 0 : 1;
}
