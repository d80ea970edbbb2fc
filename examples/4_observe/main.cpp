// 4_observe: what a runtime does, as JSON lines for whatever collects logs.
//
//   observe [--once]
//
// An observer is an `event_sink`: one function, called for every event in order, on a thread of its own behind a
// bounded queue. So it may take its time; a request never waits for it. This one writes each event as one line
//
//   {"time":"2024-05-01T12:00:00.123Z","level":"info","event":{"name":"attempt","request_id":"...",...}}
//
// through spdlog. The logger is its own, apart from the program's, and its pattern makes the envelope, so that nothing
// but JSON is on stdout and each line can be read by itself. Another sink (a rotating file, syslog, the network) is
// another constructor.
//
// Secrets cannot get there: events have ids, names, figures and classes, and no field for a key, a prompt, an answer
// or a provider's message. --once looks for all of them.
//
// Two providers inside this process: `hosted`, which fails, and `local`, which works. Without an option a request goes
// out every second until Ctrl-C. With --once there are four, two of them with the same idempotency key, and the
// program reads its own lines again: status 0 when each is JSON, all kinds that must be there are, and no secret is.

#include "event_line.hpp"

#include "switchyard/runtime/runtime.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace std::chrono_literals;

constexpr std::string_view prompt = "What is the combination of the safe?", secret_answer = "17-4-33",
                           key = "one-key-of-a-client", complaint = "no such account: 4711";

class json_lines : public switchyard::event_sink {
public:
  explicit json_lines(std::vector<spdlog::sink_ptr> sinks) : logger_("events", sinks.begin(), sinks.end()) {
    logger_.set_formatter(std::make_unique<spdlog::pattern_formatter>(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","event":%v})", spdlog::pattern_time_type::utc));
    logger_.flush_on(spdlog::level::info);
  }

  void on_event(const switchyard::event& e) noexcept override {
    try {
      logger_.log(observe::needs_attention(e) ? spdlog::level::warn : spdlog::level::info, "{}",
                  observe::event_line(e));
    } catch (...) { // NOLINT(bugprone-empty-catch): without memory for a line there is no line
    }
  }

private:
  spdlog::logger logger_;
};

struct short_attempt : switchyard::attempt_handle {
  void cancel() noexcept override {}
  bool responded() const noexcept override { return false; }
};

// A provider in this process: the same answer to every request. See 2_fallback.
class fixed_provider : public switchyard::provider {
public:
  fixed_provider(boost::asio::thread_pool& pool, int status, std::string body)
      : pool_(pool), status_(status), body_(std::move(body)) {}

  std::shared_ptr<switchyard::attempt_handle> start(switchyard::provider_request,
                                                    std::shared_ptr<switchyard::attempt_listener> listener) override {
    boost::asio::post(pool_, [this, listener = std::move(listener)] {
      switchyard::provider_result result;
      result.sent = result.responded = true;
      result.status = status_;
      result.headers.add("Content-Type", "application/json");
      result.body = body_;
      if (status_ != 200)
        result.failure = switchyard::failure_class::server_error;
      listener->on_attempt_done(std::move(result));
    });
    return std::make_shared<short_attempt>();
  }

private:
  boost::asio::thread_pool& pool_;
  int status_;
  std::string body_;
};

switchyard::config make_config() {
  switchyard::config c;
  c.circuits["default"].consecutive_failures = 2;
  c.circuits["default"].cooldown = 5s;
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

switchyard::request make_request() {
  return {"chat", R"({"messages":[{"role":"user","content":")" + std::string{prompt} + R"("}]})"};
}

// Whether every line is JSON by itself, tells of all that happened, and of nothing that it must not.
bool as_expected(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    boost::system::error_code failed;
    const auto read = boost::json::parse(line, failed);
    const auto* event = failed || !read.is_object() ? nullptr : read.as_object().if_contains("event");
    if (!event) {
      std::cerr << "this line is not what it should be: " << line << '\n';
      return false;
    }
    names.emplace(event->at("name").as_string());
  }
  for (const auto* name : {"attempt", "call", "circuit_state", "circuit_refused", "fallback", "idempotency", "request"})
    if (!names.contains(name)) {
      std::cerr << "there is no line with the event " << name << '\n';
      return false;
    }
  for (const auto secret : {prompt, secret_answer, key, complaint})
    if (text.find(secret) != std::string::npos) {
      std::cerr << "this got into a line: " << secret << '\n';
      return false;
    }
  return true;
}

void send_once(switchyard::runtime& runtime) {
  auto request = make_request();
  request.idempotency_key = std::string{key};
  for (int i = 0; i < 2; ++i) // the second one is a replay
    static_cast<void>(runtime.async_submit(request, boost::asio::use_future).get());
  for (int i = 0; i < 2; ++i) // the first one opens the circuit of `hosted`, which refuses the second
    static_cast<void>(runtime.async_submit(make_request(), boost::asio::use_future).get());
}

void send_until_stopped(switchyard::runtime& runtime) {
  boost::asio::io_context io;
  boost::asio::signal_set signals{io, SIGINT, SIGTERM};
  boost::asio::steady_timer timer{io};
  std::function<void()> send = [&] {
    runtime.async_submit(make_request(), [](const switchyard::submit_result&) {});
    timer.expires_after(1s);
    timer.async_wait([&](boost::system::error_code stopped) {
      if (!stopped)
        send();
    });
  };
  signals.async_wait([&](boost::system::error_code, int) { timer.cancel(); });
  send();
  io.run();
}

} // namespace

int main(int argc, char** argv) {
  const bool once = argc == 2 && std::string_view{argv[1]} == "--once";
  if (argc > 1 && !once) {
    std::cerr << "usage: observe [--once]\n";
    return 2;
  }
  boost::asio::thread_pool pool{1};
  switchyard::core_options options;
  options.in_memory = true;
  options.providers = {
      {"hosted",
       std::make_shared<fixed_provider>(pool, 503, R"({"error":{"message":")" + std::string{complaint} + R"("}})")},
      {"local", std::make_shared<fixed_provider>(
                    pool, 200, R"({"choices":[{"message":{"content":")" + std::string{secret_answer} + R"("}}]})")}};
  auto started = switchyard::runtime::start(make_config(), std::move(options));
  if (!started) {
    std::cerr << started.error().message << '\n';
    return 1;
  }
  auto runtime = *std::move(started);

  std::ostringstream written; // what --once reads again
  std::vector<spdlog::sink_ptr> sinks{std::make_shared<spdlog::sinks::stdout_sink_mt>()};
  if (once)
    sinks.push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(written));
  const auto watching = runtime.observe(std::make_shared<json_lines>(std::move(sinks))); // as long as this lives
  if (once)
    send_once(runtime);
  else
    send_until_stopped(runtime);
  runtime.stop(1s); // the observer is given what is queued for it
  pool.join();
  return !once || as_expected(written.str()) ? 0 : 1;
}
