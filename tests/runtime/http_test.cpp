#include "fixture.hpp"

#include "switchyard/http/server.hpp"

#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

// A provider behind a real socket.
class http_provider {
public:
  explicit http_provider(http::handler handler) {
    threads_.start();
    auto listening = http::listen(threads_, {}, std::move(handler), [](const http::refusal&) {
      return std::pair{header_list{}, std::string{}};
    });
    if (!listening)
      throw std::runtime_error(listening.error());
    server_ = *std::move(listening);
  }
  ~http_provider() {
    server_->close_all();
    threads_.stop();
  }
  std::string base_url() const { return "http://" + server_->address() + "/v1"; }

private:
  http::io_threads threads_{1};
  std::shared_ptr<http::server> server_;
};

runtime calling(const http_provider& provider) {
  auto c = one_route();
  c.providers["p"].base_url = provider.base_url();
  return start(std::move(c), with_provider(nullptr));
}

} // namespace

TEST_CASE("a request reaches a provider over HTTP with its path, model and headers") {
  std::promise<http::request> seen;
  http_provider provider{[&](std::shared_ptr<http::exchange> x) {
    seen.set_value(x->request());
    header_list headers;
    headers.add("Content-Type", "application/json");
    x->reply(200, headers, usable_body);
  }};
  auto runtime = calling(provider);
  auto r = chat_request();
  r.headers.add("X-Trace", "7");
  const auto result = value_of(runtime.async_submit(std::move(r), asio::use_future));
  REQUIRE(result);
  CHECK(result->body == usable_body);
  const auto request = value_of(seen.get_future());
  CHECK(request.method == "POST");
  CHECK(request.path == "/v1/chat/completions");
  CHECK(request.body == R"({"model":"m","messages":[]})");
  CHECK(request.headers.find("x-trace") == "7");
}

TEST_CASE("a provider's 429 surfaces with its answer and its wait [R4]") {
  http_provider provider{[](std::shared_ptr<http::exchange> x) {
    header_list headers;
    headers.add("Content-Type", "application/json");
    headers.add("Retry-After", "77");
    x->reply(429, headers, R"({"error":{"message":"slow down"}})");
  }};
  auto runtime = calling(provider);
  const auto result = value_of(runtime.async_submit(chat_request(), asio::use_future));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == errc::upstream_error);
  CHECK(result.error().what == failure_class::rate_limit);
  CHECK(result.error().retry_after == duration{77s});
  REQUIRE(result.error().provider_answer);
  CHECK(result.error().provider_answer->status == 429);
}

TEST_CASE("a caller's timeout ends the request with deadline_exceeded [B8]") {
  http_provider provider{[](std::shared_ptr<http::exchange> x) {
    auto* waiting = x.get();
    waiting->on_gone([x = std::move(x)]() mutable { x.reset(); }); // held until the client leaves
  }};
  auto runtime = calling(provider);
  auto r = chat_request();
  r.timeout = 50ms;
  const auto result = value_of(runtime.async_submit(std::move(r), asio::use_future));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == errc::deadline_exceeded);
  CHECK(result.error().what == failure_class::deadline);
}
