// The data plane over loopback, with providers of the test's own.

#include "data_plane.hpp"

#include "adapters/http/server/fixture.hpp"
#include "answers.hpp"
#include "support/scripted_provider.hpp"

#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <vector>

using namespace switchyard;
using http::test::answer;
using http::test::mailbox;
using http::test::raw_client;
namespace json = boost::json;

namespace {

/// Hands every attempt to the test, which says how and when it ends.
class held_provider final : public provider {
public:
  struct attempt {
    provider_request request;
    std::shared_ptr<attempt_listener> listener;
    std::shared_ptr<std::atomic<bool>> cancelled;
    boost::asio::io_context* home; ///< where its end is to be told

    void end(provider_result result) const {
      boost::asio::post(*home, [listener = listener, result = std::move(result)]() mutable {
        listener->on_attempt_done(std::move(result));
      });
    }
  };

  std::shared_ptr<attempt_handle> start(provider_request request, std::shared_ptr<attempt_listener> listener) override {
    struct handle final : attempt_handle {
      void cancel() noexcept override { *cancelled = true; }
      bool responded() const noexcept override { return false; }
      std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
    };
    auto h = std::make_shared<handle>();
    attempts.put({std::move(request), std::move(listener), h->cancelled, &threads->pick()});
    return h;
  }

  /// Ends the next attempt; what it was asked.
  provider_request end_next(provider_result result) {
    auto a = attempts.take();
    a.end(std::move(result));
    return a.request;
  }

  mailbox<attempt> attempts;
  http::io_threads* threads = nullptr; ///< of the core that calls it
};

provider_result usable() {
  return test::answer_of(R"({"choices":[{"message":{"content":"hello"}}]})");
}

config two_routes() {
  config c;
  c.providers["alpha"].base_url = c.providers["beta"].base_url = "http://127.0.0.1:9";
  for (const auto& [name, provider] : {std::pair{"chat", "alpha"}, std::pair{"backup", "beta"}}) {
    auto& r = c.routes[name];
    r.name = name;
    r.provider = provider;
    r.model = std::string{provider} + "-1";
    r.retry.max_attempts = 1;
  }
  c.routes["chat"].fallback = {"backup"};
  auto& off = c.routes["off"];
  off = c.routes["backup"];
  off.name = "off";
  off.active = false;
  c.route_order = {"Chat", "backup", "off"};
  return c;
}

class running_gateway {
public:
  explicit running_gateway(config c = two_routes()) {
    core_options o;
    o.in_memory = true;
    o.io_threads = 1;
    o.providers["alpha"] = alpha;
    o.providers["beta"] = beta;
    auto started = core::start(std::move(c), std::move(o));
    if (!started)
      throw std::runtime_error(started.error().message);
    engine = *std::move(started);
    state = std::make_shared<gateway::gateway_state>(engine->settings()->gateway);
    alpha->threads = beta->threads = &engine->threads();
    http::server_options options;
    options.screen = gateway::make_screener(engine, state);
    auto listening = http::listen(engine->threads(), options, gateway::make_data_plane(engine, state),
                                  gateway::make_refusal_formatter(engine, state));
    if (!listening)
      throw std::runtime_error(listening.error());
    server = *listening;
  }
  ~running_gateway() {
    engine->stop(duration::zero());
    server.reset();
  }

  /// Sends a request; its answer is to be received.
  raw_client begin(std::string_view method, std::string_view target, std::string_view body = {},
                   std::string_view more_headers = {}) const {
    raw_client c(http::test::port_of(server->address()));
    std::string text;
    text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: a\r\n").append(more_headers);
    text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
    REQUIRE(c.send(text));
    return c;
  }
  raw_client chat(std::string_view more_headers = {}, std::string_view model = "chat") const {
    return begin("POST", "/v1/chat/completions", R"({"model":")" + std::string{model} + R"(","messages":[]})",
                 more_headers);
  }
  answer call(std::string_view method, std::string_view target, std::string_view body = {},
              std::string_view more_headers = {}) const {
    return begin(method, target, body, more_headers).receive(method == "HEAD");
  }

  std::shared_ptr<held_provider> alpha = std::make_shared<held_provider>(), beta = std::make_shared<held_provider>();
  std::shared_ptr<gateway::gateway_state> state;
  std::shared_ptr<core> engine;
  std::shared_ptr<http::server> server;
};

json::object error_of(const answer& got, int status, std::string_view code) {
  INFO(got.head << got.body);
  CHECK(got.status == status);
  CHECK(got.has("Content-Type: application/json"));
  CHECK(got.head.find("X-Request-Id: ") != std::string::npos);
  CHECK(got.has("X-Switchyard-Attempts: 0"));
  CHECK(got.has("X-Switchyard-Fallbacks: 0"));
  const auto error = json::parse(got.body).at("error").as_object();
  CHECK(error.at("code") == json::value(code));
  CHECK(got.has("X-Request-Id: " + std::string{error.at("request_id").as_string()}));
  return error;
}

bool says(const json::object& error, std::string_view part) {
  const std::string_view message = error.at("message").as_string();
  INFO(message);
  return message.find(part) != std::string_view::npos;
}

} // namespace

TEST_CASE("a request reaches the route's provider with its own model, and its answer the client") {
  running_gateway g;
  auto c = g.chat("X-Request-Id: mine\r\nAuthorization: Bearer x\r\nX-Trace: 7\r\n"
                  "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\ntracestate: a=1\r\n",
                  "CHAT");
  const auto asked = g.alpha->end_next(usable());
  CHECK(asked.path == "/chat/completions");
  CHECK(*asked.body == R"({"model":"alpha-1","messages":[]})");
  CHECK(asked.headers->find("X-Trace") == "7");
  CHECK(asked.headers->find("X-Request-Id") == "mine");
  CHECK_FALSE(asked.headers->contains("Authorization"));
  const auto parent = asked.headers->find("traceparent").value_or("");
  CHECK(parent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
  CHECK(parent.find("b7ad6b7169203331") == std::string_view::npos);
  CHECK(asked.headers->find("tracestate") == "a=1");
  const auto got = c.receive();
  CHECK(got.status == 200);
  CHECK(got.body == usable().body);
  CHECK(got.has("X-Request-Id: mine"));
  CHECK(got.has("X-Switchyard-Route: chat"));
  CHECK(got.has("X-Switchyard-Provider: alpha"));
  CHECK(got.has("X-Switchyard-Attempts: 1"));
}

TEST_CASE("every operation goes to its own path of the provider") {
  running_gateway g;
  for (const auto* path : {"/chat/completions", "/completions", "/embeddings", "/responses"}) {
    INFO(path);
    auto c = g.begin("POST", "/v1" + std::string{path}, R"({"model":"chat"})");
    CHECK(g.alpha->end_next(test::http_error(404, failure_class::client_error)).path == path);
    CHECK(c.receive().status == 404);
  }
}

TEST_CASE("a failure falls over, unless the client turned that off [B3]") {
  running_gateway g;
  auto c = g.chat();
  g.alpha->end_next(test::http_error(500, failure_class::server_error));
  g.beta->end_next(usable());
  auto got = c.receive();
  CHECK(got.status == 200);
  CHECK(got.has("X-Switchyard-Provider: beta"));
  CHECK(got.has("X-Switchyard-Attempts: 2"));
  CHECK(got.has("X-Switchyard-Fallbacks: 1"));
  auto alone = g.chat("X-Switchyard-Fallback: off\r\n");
  g.alpha->end_next(test::http_error(500, failure_class::server_error));
  got = alone.receive();
  CHECK(got.status == 500);
  CHECK(got.has("X-Switchyard-Attempts: 1"));
}

TEST_CASE("a client that leaves cancels its call [I7]") {
  running_gateway g;
  auto c = g.chat();
  const auto attempt = g.alpha->attempts.take();
  c.reset();
  CHECK(http::test::eventually([&] { return attempt.cancelled->load(); }));
}

TEST_CASE("a request that cannot be understood is 400 and says why; no provider is called") {
  running_gateway g;
  const auto refused = [&](std::string_view body, std::string_view headers = {}) {
    return error_of(g.call("POST", "/v1/chat/completions", body, headers), 400, "invalid_request");
  };
  CHECK(says(refused(""), "empty"));
  CHECK(says(refused("{"), "not JSON"));
  CHECK(says(refused("[]"), "JSON object"));
  CHECK(says(refused("{}"), "\"model\""));
  CHECK(says(refused(R"({"model":7})"), "model"));
  CHECK(says(refused(R"({"model":"chat","stream":"yes"})"), "stream"));
  constexpr auto good = R"({"model":"chat"})";
  CHECK(says(refused(good, "Idempotency-Key: a b\r\n"), "1 to 255 visible ASCII"));
  CHECK(says(refused(good, "X-Switchyard-Timeout: 5\r\n"), "X-Switchyard-Timeout: 5 is not accepted"));
  CHECK(says(refused(good, "X-Switchyard-Timeout: 1s\r\nX-Switchyard-Timeout: 2s\r\n"), "more than once"));
  CHECK(says(refused(good, "X-Switchyard-Fallback: \xff\r\n"), "on or off")); // and the answer is JSON all the same
  CHECK(g.alpha->attempts.size() == 0);
}

TEST_CASE("an unknown or inactive route is 404, names it, and says where the routes are") {
  running_gateway g;
  for (const auto* model : {"nothing", "off", "chat2", "Off"}) {
    INFO(model);
    const auto e = error_of(g.chat({}, model).receive(), 404, "unknown_route");
    CHECK(says(e, std::string{"no active route "} + model));
    CHECK(says(e, "GET /v1/models"));
  }
}

TEST_CASE("a model's name as long as a body does not come back whole") {
  running_gateway g;
  const auto got = g.chat({}, std::string(1'000'000, 'm')).receive();
  error_of(got, 404, "unknown_route");
  CHECK(got.body.size() < 1000);
}

TEST_CASE("an unknown path is 404, a wrong method 405 with those that are taken") {
  running_gateway g;
  CHECK(says(error_of(g.call("GET", "/v1/nothing"), 404, "not_found"), "/v1/nothing"));
  error_of(g.call("POST", "/v1/chat/completions/", "{}"), 404, "not_found");
  error_of(g.call("GET", "/admin/circuits"), 404, "not_found"); // not on this listener
  const auto wrong = [&](const char* method, const char* path, const std::string& allowed) {
    const auto got = g.call(method, path, "{}");
    const auto e = error_of(got, 405, "method_not_allowed");
    CHECK(says(e, method));
    CHECK(says(e, allowed));
    CHECK(got.has("Allow: " + allowed + ", OPTIONS"));
  };
  for (const auto* path : {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"})
    for (const auto* method : {"GET", "PUT"})
      wrong(method, path, "POST");
  for (const auto* path : {"/v1/models", "/v1/models/chat", "/healthz", "/readyz"})
    wrong("POST", path, "GET, HEAD");
}

TEST_CASE("the active routes are listed as models, in the order and spelling of the file") {
  running_gateway g;
  const auto list = json::parse(g.call("GET", "/v1/models").body);
  CHECK(list.at("object") == "list");
  const auto& data = list.at("data").as_array();
  REQUIRE(data.size() == 2);
  CHECK(data[0].at("id") == "Chat");
  CHECK(data[1].at("id") == "backup");
  for (const auto& model : data) {
    CHECK(model.at("object") == "model");
    CHECK(model.at("created").as_int64() > 1'700'000'000);
    CHECK(model.at("owned_by") == "switchyard");
  }
  CHECK(json::parse(g.call("GET", "/v1/models/cHAT").body) == data[0]);
  CHECK(json::parse(g.call("GET", "/v1/models/b%61ckup").body) == data[1]);
  for (const auto* id : {"off", "nothing", "%zz"}) {
    const auto e = error_of(g.call("GET", "/v1/models/" + std::string{id}), 404, "unknown_route");
    CHECK(says(e, id));
  }
}

TEST_CASE("with tenants every request but the probes needs a key, which scopes idempotency [I2]") {
  auto c = two_routes();
  c.gateway.tenants["acme"].key = secret{"key-of-acme"};
  c.gateway.tenants["umbrella"].key = secret{"key-of-umbrella"};
  running_gateway g{c};
  for (const auto* header : {"", "Authorization: Bearer wrong\r\n", "Authorization: Basic key-of-acme\r\n"}) {
    const auto got = g.chat(header).receive();
    const auto e = error_of(got, 401, "unauthorized");
    CHECK(got.has("WWW-Authenticate: Bearer"));
    CHECK(says(e, "Authorization: Bearer KEY"));
    CHECK_FALSE(says(e, "wrong"));
    error_of(g.call("GET", "/v1/models", {}, header), 401, "unauthorized");
  }
  CHECK(g.alpha->attempts.size() == 0);
  CHECK(g.call("GET", "/healthz").status == 200);
  CHECK(g.call("GET", "/readyz").status == 200);
  const std::string acme = "Authorization: Bearer key-of-acme\r\nIdempotency-Key: k\r\n";
  const std::string umbrella = "Authorization: Bearer key-of-umbrella\r\nIdempotency-Key: k\r\n";
  for (const auto& tenant : {acme, umbrella}) {
    auto call = g.chat(tenant);
    g.alpha->end_next(usable());
    CHECK(call.receive().has("X-Switchyard-Attempts: 1"));
  }
  const auto replayed = g.chat(acme).receive();
  CHECK(replayed.has("Idempotency-Replayed: true"));
  CHECK(replayed.has("X-Switchyard-Attempts: 0"));
}

TEST_CASE(
    "what its head refuses is answered before its body has come: nobody without a key makes the gateway keep one") {
  auto c = two_routes();
  c.gateway.tenants["acme"].key = secret{"k-acme"};
  running_gateway g(c);
  // A body that never comes.
  const auto head = [&](std::string_view method, std::string_view path, std::string_view headers) {
    raw_client client(http::test::port_of(g.server->address()));
    REQUIRE(client.send(std::string{method} + " " + std::string{path} + " HTTP/1.1\r\nHost: a\r\n" +
                        std::string{headers} + "Content-Length: 1000000\r\n\r\n"));
    return client.receive(false);
  };
  CHECK(head("POST", "/v1/chat/completions", "").status == 401);
  CHECK(head("POST", "/v1/chat/completions", "Authorization: Bearer wrong\r\n").status == 401);
  CHECK(head("POST", "/v1/nothing", "").status == 404);
  CHECK(head("PUT", "/v1/chat/completions", "").status == 405);
  CHECK(head("DELETE", "/healthz", "").status == 405);
  const auto bad = head("POST", "/v1/chat/completions", "Authorization: Bearer k-acme\r\nIdempotency-Key: \x01\r\n");
  CHECK(bad.status == 400);
  CHECK(head("POST", "/v1/chat/completions", "Authorization: Bearer k-acme\r\nX-Switchyard-Timeout: x\r\n").status ==
        400);
  g.state->drain();
  CHECK(head("POST", "/v1/chat/completions", "Authorization: Bearer k-acme\r\n").status == 503);
}

TEST_CASE("a client's request id is kept where it may be, else one is made") {
  running_gateway g;
  CHECK(g.call("GET", "/nothing", {}, "X-Request-Id: my.id_1-2\r\n").has("X-Request-Id: my.id_1-2"));
  const auto made = error_of(g.call("GET", "/nothing", {}, "X-Request-Id: no good\r\n"), 404, "not_found");
  const auto other = error_of(g.call("GET", "/nothing"), 404, "not_found");
  CHECK_FALSE(made.at("request_id") == "no good");
  CHECK_FALSE(made.at("request_id") == other.at("request_id"));
}

TEST_CASE("while draining new requests are 503 and say what to do, running ones end as usual") {
  running_gateway g;
  auto running = g.chat();
  const auto attempt = g.alpha->attempts.take();
  g.state->drain();
  const auto e = error_of(g.chat().receive(), 503, "shutting_down");
  CHECK(says(e, "shutting down"));
  CHECK(g.call("GET", "/readyz").status == 503);
  CHECK(g.call("GET", "/healthz").status == 200);
  attempt.end(usable());
  CHECK(running.receive().status == 200);
}

TEST_CASE("what the listener refuses has the gateway's form too") {
  running_gateway g;
  raw_client c(http::test::port_of(g.server->address()));
  REQUIRE(c.send("GARBAGE\r\n\r\n"));
  error_of(c.receive(), 400, "invalid_request");
}

TEST_CASE("internal errors were not logged; now the first of a minute is, with its cause and its request's id") {
  mailbox<std::string> lines;
  core_options o;
  o.in_memory = true;
  o.log = [&](log_level, std::string_view line) { lines.put(std::string{line}); };
  auto engine = core::start(two_routes(), std::move(o)).value();
  const auto state = std::make_shared<gateway::gateway_state>(engine->settings()->gateway);
  const auto format = gateway::make_refusal_formatter(engine, state);
  http::request request;
  for (const auto* id : {"first", "second", "third"}) {
    request.headers = {};
    request.headers.add("X-Request-Id", id);
    const auto [headers, body] = format({500, "internal", "an internal error", &request, "out of luck"});
    CHECK(headers.find("X-Request-Id") == std::string_view{id});
    CHECK(body.find(id) != std::string::npos);
    CHECK(body.find("out of luck") == std::string::npos);
  }
  format({400, "invalid_request", "malformed"});
  engine->shared().log(log_level::info, "the last line");
  CHECK(lines.take() == "an internal error: out of luck, request first");
  CHECK(lines.take() == "the last line");
  engine->stop(duration::zero());
}
