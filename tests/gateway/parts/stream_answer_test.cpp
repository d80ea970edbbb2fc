// Streams through the data plane, over loopback, with a provider that says what the test wants.

#include "answers.hpp"
#include "data_plane.hpp"

#include "adapters/http/server/raw_client.hpp"
#include "support/catch.hpp"
#include "support/chat_stream.hpp"

#include <boost/json/parse.hpp>

#include <future>

using namespace switchyard;
using namespace switchyard::test::chat_stream;
using http::test::peer;
using http::test::raw_client;
using http::test::scripted_server;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

class streaming_gateway {
public:
  explicit streaming_gateway(const std::string& primary, const std::string& fallback = {}, duration idle = 30s) {
    config c;
    const auto route = [&](const std::string& name, const std::string& provider, const std::string& url) {
      c.providers[provider].base_url = url;
      c.providers[provider].timeouts.idle = idle;
      auto& r = c.routes[name];
      r.name = name;
      r.provider = provider;
      r.model = "m";
      r.retry.max_attempts = 1;
      c.route_order.push_back(name);
    };
    route("chat", "alpha", primary);
    if (!fallback.empty()) {
      route("backup", "beta", fallback);
      c.routes["chat"].fallback = {"backup"};
    }
    core_options o;
    o.in_memory = true;
    o.io_threads = 2;
    engine = core::start(std::move(c), std::move(o)).value();
    state = std::make_shared<gateway::gateway_state>(engine->settings()->gateway);
    server = *http::listen(engine->threads(), {}, gateway::make_data_plane(engine, state),
                           [](const http::refusal& r) { return gateway::format_refusal(r, "listener"); });
  }
  ~streaming_gateway() {
    engine->stop(duration::zero());
    server.reset();
  }

  raw_client ask(std::string_view more_headers = {}, std::string_view path = "/v1/chat/completions",
                 std::string_view version = "1.1") const {
    const auto address = server->address();
    raw_client c(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    const std::string body = R"({"model":"chat","stream":true})";
    REQUIRE(c.send(text("POST ", path, " HTTP/", version, "\r\nHost: a\r\n", more_headers,
                        "Content-Length: ", std::to_string(body.size()), "\r\n\r\n", body)));
    return c;
  }

  std::shared_ptr<gateway::gateway_state> state;
  std::shared_ptr<core> engine;
  std::shared_ptr<http::server> server;
};

// The error that ends a broken stream, behind what was good.
json::object error_behind(const std::string& body, const std::string& good) {
  INFO(body);
  const auto begin = good + "event: error\ndata: ";
  REQUIRE(body.starts_with(begin));
  REQUIRE(body.ends_with("\n\n"));
  CHECK(body.find("[DONE]") == body.npos);
  return json::parse(body.substr(begin.size())).as_object();
}

} // namespace

TEST_CASE("a stream reaches its client byte for byte, with who served it [S5]") {
  const auto events = text(role, hello, stop, done);
  scripted_server p(says(text(head, events)));
  streaming_gateway g(p.url());
  // With a key it goes through a request actor.
  auto c = g.ask(GENERATE("", "Idempotency-Key: k\r\n"));
  const auto got = c.receive();
  CHECK(got.status == 200);
  CHECK(got.body == events);
  CHECK(got.has("Content-Type: text/event-stream"));
  CHECK(got.has("X-Switchyard-Provider: alpha"));
  CHECK(got.has("X-Switchyard-Attempts: 1"));
  CHECK(got.has("X-Switchyard-Upstream-Request-Id: theirs"));
}

TEST_CASE("a client of HTTP/1.0 gets the stream until the connection closes") {
  const auto events = text(role, hello, stop, done);
  scripted_server p(says(text(head, events)));
  streaming_gateway g(p.url());
  auto c = g.ask({}, "/v1/chat/completions", "1.0");
  const auto got = c.receive();
  CHECK(got.body == events);
  CHECK_FALSE(got.has("Transfer-Encoding: chunked"));
}

TEST_CASE("what fails before its first content is not seen, and the fallback streams [S1]") {
  const auto primary = GENERATE(as<std::string>{}, "HTTP/1.1 500 no\r\nContent-Length: 2\r\n\r\n{}",
                                text(head, "data: {\"error\":{\"message\":\"no\"}}\n\n"), text(head, role, done));
  scripted_server p(says(primary)), f(says(text(head, hello, stop, done)));
  streaming_gateway g(p.url(), f.url());
  auto c = g.ask();
  const auto got = c.receive();
  CHECK(got.status == 200);
  CHECK(got.body == text(hello, stop, done));
  CHECK(got.has("X-Switchyard-Fallbacks: 1"));
}

TEST_CASE("a stream that breaks off ends with an error event and a proper end of the body [S2]") {
  scripted_server p(says(text(head, role, hello, "data: {\"cho")));
  streaming_gateway g(p.url());
  auto c = g.ask("X-Request-Id: mine\r\n");
  const auto got = c.receive(); // whole, by its framing
  const auto event = error_behind(got.body, text(role, hello));
  const auto& error = event.at("error").as_object();
  CHECK(error.at("code") == "upstream_cut");
  CHECK(error.at("type") == "switchyard_error");
  CHECK(error.at("param").is_null());
  CHECK(error.at("request_id") == "mine");
  CHECK_FALSE(event.contains("type"));
}

TEST_CASE("silence after the first content is upstream_stalled, a bad frame upstream_invalid [S2]") {
  SECTION("silence") {
    watching_provider p(text(head, hello));
    streaming_gateway g(p.url(), {}, 100ms);
    auto c = g.ask();
    const auto got = c.receive();
    CHECK(error_behind(got.body, std::string{hello}).at("error").at("code") == "upstream_stalled");
    CHECK(p.client_has_left()); // [F3]
  }
  SECTION("a bad frame") {
    scripted_server p(says(text(head, hello, "data: nonsense\n\n", hello)));
    streaming_gateway g(p.url());
    auto c = g.ask();
    const auto got = c.receive();
    CHECK(error_behind(got.body, std::string{hello}).at("error").at("code") == "upstream_invalid");
  }
}

TEST_CASE("the error event of a response says its type [S2]") {
  constexpr std::string_view delta = "event: response.output_text.delta\n"
                                     "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hello\"}\n\n";
  scripted_server p(says(text(head, delta)));
  streaming_gateway g(p.url());
  auto c = g.ask({}, "/v1/responses");
  const auto got = c.receive();
  CHECK(error_behind(got.body, std::string{delta}).at("type") == "error");
}

TEST_CASE("a client that leaves its stream is noticed at the provider while nothing is sent [S4]") {
  watching_provider p(text(head, hello));
  streaming_gateway g(p.url());
  auto c = g.ask(GENERATE("", "Idempotency-Key: k\r\n"));
  REQUIRE(c.receive_until("hello"));
  c.reset();
  CHECK(p.client_has_left());
}

TEST_CASE("a client that does not read slows its provider, nobody else, and gets everything [S5]") {
  std::string all;
  const std::string word(1'000, 'x');
  for (int i = 0; i < 20'000; ++i) // beyond what any socket holds
    all += text("data: {\"choices\":[{\"delta\":{\"content\":\"", word, "\"}}]}\n\n");
  all += text(stop, done);
  std::atomic<bool> written{false};
  scripted_server server([&](peer& p) {
    const bool slow = p.number() == 0;
    p.read_request();
    p.write(slow ? text(head, all) : text(head, hello, stop, done));
    written = written || slow;
  });
  streaming_gateway g(server.url());
  auto c = g.ask();
  REQUIRE(c.receive_until("xx"));
  for (int i = 0; i < 20; ++i) {
    auto other = g.ask();
    CHECK(other.receive().body == text(hello, stop, done));
  }
  CHECK_FALSE(written);
  CHECK(c.receive_until("[DONE]"));
}

TEST_CASE("a keyed stream that runs makes a second one in_flight [I9]") {
  watching_provider p(text(head, hello));
  streaming_gateway g(p.url());
  auto first = g.ask("Idempotency-Key: k\r\n");
  REQUIRE(first.receive_until("hello"));
  const auto second = g.ask("Idempotency-Key: k\r\n").receive();
  CHECK(second.status == 409);
  CHECK(second.has("Retry-After: 1"));
}

TEST_CASE("a stop ends running streams with an error event [S2]") {
  watching_provider p(text(head, hello));
  streaming_gateway g(p.url());
  auto c = g.ask();
  REQUIRE(c.receive_until("hello"));
  g.engine->stop(duration::zero());
  CHECK(c.receive_until("\"code\":\"shutting_down\""));
  CHECK(p.client_has_left());
}
