#include "answers.hpp"

#include "support/catch.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

using namespace switchyard;
using namespace switchyard::gateway;
namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

/// Keeps the answer.
class recorded : public http::exchange {
public:
  const http::request& request() const noexcept override { return request_; }
  boost::asio::io_context& context() noexcept override { return *context_; }
  void reply(int answered, const header_list& fields, std::string text) override {
    status = answered;
    headers = fields;
    body = std::move(text);
  }
  void begin(int, const header_list&) override { FAIL("not a whole answer"); }
  bool write(std::string_view, std::size_t) override { return false; }
  void on_room(std::function<void()> callback) override { callback(); }
  void end() override {}
  void abort() override { FAIL("no answer"); }
  void close() override { FAIL("no answer"); }
  void on_gone(std::function<void()>) override {}

  std::string header(std::string_view name) const { return std::string{headers.find(name).value_or("-")}; }
  json::object error() const { return json::parse(body).at("error").as_object(); }

  int status = 0;
  header_list headers;
  std::string body;

private:
  http::request request_;
  std::shared_ptr<boost::asio::io_context> context_ = std::make_shared<boost::asio::io_context>();
};

recorded error(errc code, std::optional<duration> wait = {}, const request_result* result = nullptr) {
  recorded x;
  reply_error(x, "id-1", code, "what happened", wait, result);
  return x;
}

request_result own_error(errc code, std::optional<duration> wait = {}, bool all_refused = false) {
  request_result r;
  r.code = code;
  r.retry_after = wait;
  r.all_refused = all_refused;
  return r;
}

recorded error(const request_result& r) {
  recorded x;
  reply_result(x, "id-1", r);
  return x;
}

request_result with_content(request_result::kind what, int status,
                            std::initializer_list<header_list::field> fields = {}) {
  request_result r;
  r.what = what;
  auto content = std::make_shared<request_result::payload>();
  content->status = status;
  for (const auto& f : fields)
    content->headers.add(f.name, f.value);
  content->body = "the body";
  r.content = std::move(content);
  r.served = {"chat", "alpha", "m", "eu"};
  r.attempts = 1;
  return r;
}

} // namespace

TEST_CASE("a cached answer says so, with its age, and a stale one that it is degraded [U3]") {
  request_result r;
  r.what = request_result::kind::answer;
  auto content = std::make_shared<request_result::payload>();
  content->status = 200;
  content->headers.add("Content-Type", "application/json");
  r.content = std::move(content);
  CHECK_FALSE(result_headers("id", r).contains("X-Switchyard-Cache"));
  r.cached = true;
  r.age = 90'900ms;
  const auto hit = result_headers("id", r);
  CHECK(hit.find("X-Switchyard-Cache") == "hit");
  CHECK(hit.find("X-Switchyard-Attempts") == "0");
  CHECK(hit.find("Age") == "90");
  CHECK_FALSE(hit.contains("X-Switchyard-Degraded"));
  r.degraded = degradation::stale;
  r.attempts = 3;
  const auto stale = result_headers("id", r);
  CHECK(stale.find("X-Switchyard-Degraded") == "stale");
  CHECK(stale.find("X-Switchyard-Attempts") == "3");
  r.degraded = degradation::static_answer;
  CHECK(result_headers("id", r).find("X-Switchyard-Degraded") == "static");
}

TEST_CASE("an error of the gateway has every field of the contract") {
  const auto x = error(errc::invalid_request);
  CHECK(x.status == 400);
  CHECK(x.headers.text() == "Content-Type: application/json\r\nX-Request-Id: id-1\r\nX-Switchyard-Attempts: 0\r\n"
                            "X-Switchyard-Fallbacks: 0\r\n");
  CHECK(json::parse(x.body) == json::value{{"error",
                                            {{"message", "what happened"},
                                             {"type", "switchyard_error"},
                                             {"code", "invalid_request"},
                                             {"param", nullptr},
                                             {"request_id", "id-1"},
                                             {"retry_after_ms", nullptr},
                                             {"attempts", json::array{}}}}});
}

TEST_CASE("attempts and refusals are shown in order, latencies as plain decimals [B4]") {
  auto r = own_error(errc::fallback_exhausted, 1500ms);
  r.trail.push_back({"chat", "alpha", "m", failure_class::server_error, 500, 111911us, "HTTP 500"});
  r.trail.push_back({"backup", "beta", "n", failure_class::circuit_open, {}, {}, "circuit beta refuses"});
  r.attempts = 1;
  r.fallbacks = 1;
  const auto x = error(r);
  CHECK(x.status == 502);
  CHECK(x.header("X-Switchyard-Attempts") == "1");
  CHECK(x.header("X-Switchyard-Fallbacks") == "1");
  CHECK(x.error().at("attempts") == json::array{{{"route", "chat"},
                                                 {"provider", "alpha"},
                                                 {"model", "m"},
                                                 {"class", "server_error"},
                                                 {"status", 500},
                                                 {"latency_ms", 111.911},
                                                 {"message", "HTTP 500"}},
                                                {{"route", "backup"},
                                                 {"provider", "beta"},
                                                 {"model", "n"},
                                                 {"class", "circuit_open"},
                                                 {"status", nullptr},
                                                 {"latency_ms", 0},
                                                 {"message", "circuit beta refuses"}}});
  CHECK(x.body.find("\"latency_ms\":111.911,") != std::string::npos);
}

TEST_CASE("a wait is told in whole seconds rounded up and in milliseconds, at least 1 of each") {
  const auto waits = [](duration wait) {
    const auto x = error(errc::circuit_open, wait);
    CHECK(x.status == 503);
    CHECK(std::to_string(x.error().at("retry_after_ms").as_int64()) == x.header("retry-after-ms"));
    return x.header("Retry-After") + " " + x.header("retry-after-ms");
  };
  CHECK(waits(5s) == "5 5000");
  CHECK(waits(5001ms) == "6 5001");
  CHECK(waits(1ns) == "1 1");
  CHECK(waits(0s) == "1 1");
  CHECK(waits(-5s) == "1 1");
  const auto unknown = error(errc::circuit_open);
  CHECK(unknown.header("Retry-After") == "-");
  CHECK(unknown.header("retry-after-ms") == "-");
  CHECK(unknown.error().at("retry_after_ms").is_null());
}

TEST_CASE("a wait goes with 409, 429 and 503 only") {
  CHECK(error(errc::idempotency_in_flight, 1s).header("Retry-After") == "1");
  CHECK(error(errc::budget_exceeded, 1s).header("Retry-After") == "1");
  CHECK(error(errc::upstream_timeout, 1s).header("Retry-After") == "-");
}

TEST_CASE("x-should-retry is false where a client's own retry would only multiply load") {
  for (const auto code : {errc::budget_exceeded, errc::deadline_exceeded, errc::upstream_connection,
                          errc::upstream_invalid, errc::upstream_timeout, errc::idempotency_interrupted}) {
    INFO(to_string(code));
    CHECK(error(code).header("x-should-retry") == "false");
  }
  for (const auto code : {errc::circuit_open, errc::overloaded, errc::shutting_down, errc::store_unavailable,
                          errc::idempotency_in_flight, errc::invalid_request}) {
    INFO(to_string(code));
    CHECK(error(code).header("x-should-retry") == "-");
    CHECK(error(code, 30s).header("x-should-retry") == "-");
    CHECK(error(code, 30001ms).header("x-should-retry") == "false");
  }
  CHECK(error(own_error(errc::fallback_exhausted)).header("x-should-retry") == "false");
  const auto refused = error(own_error(errc::fallback_exhausted, 5s, true));
  CHECK(refused.status == 503);
  CHECK(refused.header("x-should-retry") == "-");
  CHECK(error(own_error(errc::fallback_exhausted, 31s, true)).header("x-should-retry") == "false");
}

TEST_CASE("a keyed call whose answer could not be stored was paid for: not to be sent again [I13]") {
  auto r = own_error(errc::store_unavailable);
  CHECK(error(r).header("x-should-retry") == "-");
  r.attempts = 1;
  CHECK(error(r).header("x-should-retry") == "false");
}

TEST_CASE("a 401 says how to authenticate") {
  CHECK(error(errc::unauthorized).header("WWW-Authenticate") == "Bearer");
}

TEST_CASE("an answer carries who served it and how; the body is unchanged") {
  auto r = with_content(request_result::kind::answer, 200, {{"Content-Type", "application/json"}});
  r.attempts = 3;
  r.fallbacks = 1;
  const auto x = error(r);
  CHECK(x.status == 200);
  CHECK(x.body == "the body");
  CHECK(x.headers.text() == "Content-Type: application/json\r\nX-Request-Id: id-1\r\nX-Switchyard-Attempts: 3\r\n"
                            "X-Switchyard-Fallbacks: 1\r\nX-Switchyard-Route: chat\r\nX-Switchyard-Provider: alpha\r\n"
                            "X-Switchyard-Model: m\r\n");
}

TEST_CASE("a provider cannot speak for the gateway") {
  const auto x = error(with_content(request_result::kind::answer, 200,
                                    {{"X-Request-Id", "theirs"},
                                     {"x-switchyard-attempts", "99"},
                                     {"X-Switchyard-Provider", "other"},
                                     {"Idempotency-Replayed", "true"},
                                     {"access-control-allow-origin", "*"},
                                     {"x-ratelimit-remaining", "7"},
                                     {"X-Switch", "kept"}}));
  CHECK(x.header("X-Switchyard-Upstream-Request-Id") == "theirs");
  CHECK(x.header("X-Request-Id") == "id-1");
  CHECK(x.header("X-Switchyard-Attempts") == "1");
  CHECK(x.header("X-Switchyard-Provider") == "alpha");
  CHECK(x.header("Idempotency-Replayed") == "-");
  CHECK(x.header("Access-Control-Allow-Origin") == "-");
  CHECK(x.header("x-ratelimit-remaining") == "7");
  CHECK(x.header("X-Switch") == "kept");
}

TEST_CASE("a replay says so, with no attempts of its own [I4 I5]") {
  auto r = with_content(request_result::kind::answer, 200);
  r.replayed = true;
  r.attempts = 0;
  const auto x = error(r);
  CHECK(x.header("Idempotency-Replayed") == "true");
  CHECK(x.header("X-Switchyard-Attempts") == "0");
}

TEST_CASE("a provider's error keeps its status, body and Retry-After") {
  auto r = with_content(request_result::kind::provider_error, 429, {{"Retry-After", "7"}});
  r.retry_after = 7s;
  const auto x = error(r);
  CHECK(x.status == 429);
  CHECK(x.body == "the body");
  CHECK(x.header("Retry-After") == "7");
  CHECK(x.header("retry-after-ms") == "7000");
  CHECK(x.headers.text().find("Retry-After: 7") == x.headers.text().rfind("Retry-After"));
  CHECK(x.header("x-should-retry") == "-");
}

TEST_CASE("a provider's error after our own retries, or with a long wait, is not to be retried") {
  auto r = with_content(request_result::kind::provider_error, 503, {{"x-should-retry", "true"}});
  CHECK(error(r).header("x-should-retry") == "true"); // the provider's word
  r.attempts = 2;
  CHECK(error(r).header("x-should-retry") == "false");
  r.attempts = 1;
  r.retry_after = 31s;
  CHECK(error(r).header("x-should-retry") == "false");
  CHECK(error(r).headers.text().find("true") == std::string::npos);
}

TEST_CASE("what the listener refuses has the same form, with a request id") {
  const auto [headers, body] = format_refusal({413, "payload_too_large", "too much"}, "id-2");
  CHECK(headers.find("X-Request-Id") == "id-2");
  CHECK(headers.find("X-Switchyard-Attempts") == "0");
  const auto e = json::parse(body).at("error");
  CHECK(e.at("code") == "payload_too_large");
  CHECK(e.at("message") == "too much");
  CHECK(e.at("request_id") == "id-2");
  CHECK(e.at("attempts") == json::array{});
}
