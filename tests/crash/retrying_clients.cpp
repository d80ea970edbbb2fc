#include "retrying_clients.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <utility>

namespace switchyard::crash_test {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using namespace std::chrono_literals;

namespace {

constexpr auto answer_limit = 30s;
constexpr auto key_limit = 2min; ///< with all tries

} // namespace

asio::awaitable<std::optional<reply>> submit(std::uint16_t port, std::string key, std::string request_id,
                                             std::string tenant_key) {
  http::request<http::string_body> request{http::verb::post, "/v1/chat/completions", 11};
  request.set(http::field::host, "localhost");
  request.set("Idempotency-Key", key);
  request.set("X-Request-Id", request_id);
  if (!tenant_key.empty())
    request.set(http::field::authorization, "Bearer " + tenant_key);
  request.body() = R"({"model":"chat","messages":[{"role":"user","content":")" + key + R"("}]})";
  request.prepare_payload();

  beast::tcp_stream stream{co_await asio::this_coro::executor};
  stream.expires_after(answer_limit);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  try {
    co_await stream.async_connect({asio::ip::address_v4::loopback(), port}, asio::use_awaitable);
    co_await http::async_write(stream, request, asio::use_awaitable);
    co_await http::async_read(stream, buffer, response, asio::use_awaitable);
  } catch (const boost::system::system_error&) { // the gateway was killed meanwhile
    co_return std::nullopt;
  }
  co_return reply{static_cast<int>(response.result_int()), std::move(response.body()),
                  response["Idempotency-Replayed"] == "true"};
}

std::optional<reply> submit_and_wait(std::uint16_t port, const std::string& key, const std::string& request_id) {
  asio::io_context context{1};
  auto got = asio::co_spawn(context, submit(port, key, request_id), asio::use_future);
  context.run();
  return got.get();
}

retrying_clients::retrying_clients(std::uint16_t port, std::uint64_t seed, std::string tenant_key)
    : port_(port), tenant_key_(std::move(tenant_key)), random_(seed) {
  for (unsigned i = 0; i < count; ++i)
    asio::co_spawn(context_, run(i), asio::detached);
  thread_ = std::thread{[this] { context_.run(); }};
}

retrying_clients::~retrying_clients() {
  context_.stop(); // what a test that has failed already waits for may never come
  if (thread_.joinable())
    thread_.join();
}

void retrying_clients::finish() {
  stop_ = true;
  thread_.join();
}

asio::awaitable<void> retrying_clients::run(unsigned number) {
  std::vector<std::string> answered;
  for (int i = 0; !stop_; ++i) {
    auto key = "own" + std::to_string(number) + "-" + std::to_string(i);
    if (!answered.empty() && random_() % 4 == 0)
      key = answered[random_() % answered.size()];
    else if (random_() % 4 == 0)
      key = "both" + std::to_string(number / 2) + "-" + std::to_string(i / 8);
    if (co_await submit_until_answered(number, key))
      answered.push_back(key);
  }
}

// Whether it was answered, not refused.
asio::awaitable<bool> retrying_clients::submit_until_answered(unsigned number, std::string key) {
  asio::steady_timer pause{co_await asio::this_coro::executor};
  const auto end = std::chrono::steady_clock::now() + key_limit;
  for (int tries = 0; std::chrono::steady_clock::now() < end; ++tries) {
    const auto request_id = key + "." + std::to_string(number) + "." + std::to_string(tries);
    if (const auto got = co_await submit(port_, key, request_id, tenant_key_); got && got->status != 503) {
      heard(key, *got);
      co_return got->status == 200;
    }
    ++retries_;
    pause.expires_after(std::chrono::milliseconds{1 + random_() % 10});
    co_await pause.async_wait(asio::use_awaitable);
  }
  problems_.push_back(key + " was not answered");
  co_return false;
}

void retrying_clients::heard(const std::string& key, const reply& r) {
  if (r.status == 409 && r.body.find("idempotency_interrupted") != std::string::npos) {
    interrupted_.insert(key);
  } else if (r.status != 200) {
    problems_.push_back(key + " got " + std::to_string(r.status) + " " + r.body);
  } else if (const auto [found, first] = answers_.emplace(key, r.body); !first && found->second != r.body) {
    problems_.push_back(key + " was answered " + found->second + " and " + r.body);
  }
}

} // namespace switchyard::crash_test
