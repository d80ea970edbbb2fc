// Which web pages may call the gateway.

#include "cors.hpp"

#include "adapters/http/server/fixture.hpp"
#include "data_plane.hpp"

#include "switchyard/runtime/core.hpp"

#include <string>

using namespace switchyard;
using gateway::cors;
using http::test::answer;
using http::test::raw_client;

namespace {

constexpr std::string_view page = "https://app.example";

header_list fields(std::initializer_list<header_list::field> all) {
  header_list made;
  for (const auto& f : all)
    made.add(f.name, f.value);
  return made;
}

std::string value(const header_list& headers, std::string_view name) {
  return std::string(headers.find(name).value_or("-"));
}

bool has_cors(const answer& got) {
  return got.head.find("Access-Control-") != std::string::npos;
}

/// A gateway without providers that could be reached.
class running_gateway {
public:
  explicit running_gateway(std::vector<std::string> origins, bool with_tenant = false) {
    config c;
    c.providers["alpha"].base_url = "http://127.0.0.1:9";
    auto& r = c.routes["chat"];
    r.name = "chat";
    r.provider = "alpha";
    r.model = "m";
    c.route_order = {"chat"};
    c.gateway.cors_origins = std::move(origins);
    if (with_tenant)
      c.gateway.tenants["acme"] = {.name = "acme", .key_env = "ACME_KEY", .key = secret("hunter2")};
    core_options o;
    o.in_memory = true;
    o.io_threads = 1;
    auto started = core::start(std::move(c), std::move(o));
    if (!started)
      throw std::runtime_error(started.error().message);
    engine = *std::move(started);
    state = std::make_shared<gateway::gateway_state>(engine->settings()->gateway);
    http::server_options options;
    options.max_body = 100;
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

  answer call(const std::string& line, const std::string& headers, const std::string& body = {}) const {
    raw_client c(http::test::port_of(server->address()));
    REQUIRE(c.send(line + " HTTP/1.1\r\nHost: a\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
                   "\r\n\r\n" + body));
    return c.receive(line.starts_with("HEAD"));
  }

  std::shared_ptr<gateway::gateway_state> state;
  std::shared_ptr<core> engine;
  std::shared_ptr<http::server> server;
};

const std::string from_page = "Origin: " + std::string(page) + "\r\n";
const std::string from_stranger = "Origin: https://evil.example\r\n";

} // namespace

TEST_CASE("an origin is allowed when it is listed, whatever its case, and by an asterisk every one is") {
  const cors listed({"http://localhost:3000", std::string(page)});
  CHECK(listed.enabled());
  const auto allowed = [](const cors& c, std::string_view origin) {
    return value(c.answer_fields(fields({{"Origin", origin}})), "Access-Control-Allow-Origin");
  };
  CHECK(allowed(listed, page) == page);
  CHECK(allowed(listed, "https://APP.example") == "https://APP.example");
  for (const auto* other : {"https://app.example.evil", "https://app.exampl", "http://app.example", "null", "*", "",
                            "https://app.example:8443", "http://localhost"})
    CHECK(allowed(listed, other) == "-");
  const cors any({"*"});
  CHECK(allowed(any, "https://x.example") == "*");
  CHECK(allowed(any, "null") == "*");
  CHECK_FALSE(cors({}).enabled());
  CHECK(cors({}).answer_fields(fields({{"Origin", page}})).empty());
}

TEST_CASE("an answer says that it depends on the origin, and which headers a page may read") {
  const cors c({std::string(page)});
  const auto to_page = c.answer_fields(fields({{"Origin", page}}));
  CHECK(value(to_page, "Vary") == "Origin");
  const auto exposed = value(to_page, "Access-Control-Expose-Headers");
  for (const auto* name : {"X-Request-Id", "X-Switchyard-Route", "X-Switchyard-Provider", "X-Switchyard-Model",
                           "X-Switchyard-Attempts", "X-Switchyard-Fallbacks", "Retry-After", "retry-after-ms"})
    CHECK(exposed.find(name) != std::string::npos);
  for (const auto& other : {c.answer_fields({}), c.answer_fields(fields({{"Origin", "https://evil.example"}}))}) {
    CHECK(value(other, "Vary") == "Origin");
    CHECK(value(other, "Access-Control-Expose-Headers") == "-");
  }
}

TEST_CASE("a preflight allows the contract's headers and those that go on to the provider, and no others") {
  const cors c({"*"});
  const auto allowed = [&](std::string_view asked) {
    return value(c.preflight_fields(fields({{"Origin", page},
                                            {"Access-Control-Request-Method", "POST"},
                                            {"Access-Control-Request-Headers", asked}}),
                                    "POST"),
                 "Access-Control-Allow-Headers");
  };
  const auto own = allowed("");
  for (const auto* name : {"Authorization", "Content-Type", "Idempotency-Key", "X-Request-Id", "X-Switchyard-Fallback",
                           "X-Switchyard-Timeout", "X-Switchyard-Idempotency-TTL"})
    CHECK(own.find(name) != std::string::npos);
  CHECK(allowed("content-type,authorization") == own);
  CHECK(allowed("x-stainless-lang, openai-beta") == own + ", x-stainless-lang, openai-beta");
  CHECK(allowed("cookie, te, x-switchyard-other, a b, , (x)") == own);
}

TEST_CASE("nothing ever allows credentials") {
  for (const auto* origin : {"*", "https://app.example"}) {
    running_gateway g({origin});
    for (const auto* line : {"GET /v1/models", "OPTIONS /v1/models"}) {
      const auto got = g.call(line, from_page + "Access-Control-Request-Method: GET\r\n");
      CHECK(has_cors(got));
      CHECK(got.head.find("Access-Control-Allow-Credentials") == std::string::npos);
    }
  }
}

TEST_CASE("a preflight is answered with 204 and what the path takes, without a tenant's key and while draining") {
  running_gateway g({std::string(page)}, true);
  g.state->drain();
  for (const auto& [path, methods] : {std::pair{"/v1/chat/completions", "POST"}, std::pair{"/v1/responses", "POST"},
                                      std::pair{"/v1/models", "GET, HEAD"}, std::pair{"/healthz", "GET, HEAD"}}) {
    INFO(path);
    const auto line = "OPTIONS " + std::string(path);
    const auto got = g.call(line, from_page + "Access-Control-Request-Method: POST\r\n"
                                              "Access-Control-Request-Headers: content-type\r\n");
    CHECK(got.status == 204);
    CHECK(got.has("Access-Control-Allow-Origin: " + std::string(page)));
    CHECK(got.has("Access-Control-Allow-Methods: " + std::string(methods)));
    CHECK(got.has("Access-Control-Max-Age: 7200"));
    CHECK(got.has("Vary: Origin"));
    const auto refused = g.call(line, from_stranger + "Access-Control-Request-Method: POST\r\n");
    CHECK(refused.status == 204);
    CHECK_FALSE(has_cors(refused));
    CHECK(refused.has("Vary: Origin"));
  }
  CHECK(g.call("OPTIONS /v1/nothing", from_page + "Access-Control-Request-Method: POST\r\n").status == 404);
}

TEST_CASE("errors carry the page's permission too, those of the listener as well") {
  running_gateway g({std::string(page)}, true);
  const std::string key = "Authorization: Bearer hunter2\r\n";
  const auto check = [&](const answer& got, int status) {
    INFO(got.head);
    CHECK(got.status == status);
    CHECK(got.has("Access-Control-Allow-Origin: " + std::string(page)));
    CHECK(got.has("Vary: Origin"));
  };
  check(g.call("GET /v1/models", from_page + key), 200);
  check(g.call("HEAD /v1/models", from_page + key), 200);
  check(g.call("GET /v1/models", from_page), 401);
  check(g.call("GET /nothing", from_page), 404);
  check(g.call("GET /v1/responses", from_page), 405);
  check(g.call("POST /v1/responses", from_page + key, "{"), 400);
  check(g.call("POST /v1/responses", from_page + key, R"({"model":"none"})"), 404);
  check(g.call("POST /v1/responses", from_page + key, std::string(101, ' ')), 413);
  CHECK_FALSE(has_cors(g.call("POST /v1/responses", from_stranger + key, std::string(101, ' '))));
}

TEST_CASE("without cors nothing is said to pages, and OPTIONS names the methods") {
  running_gateway g({});
  for (const auto& [path, methods] :
       {std::pair{"/v1/embeddings", "POST, OPTIONS"}, std::pair{"/v1/models", "GET, HEAD, OPTIONS"},
        std::pair{"*", "GET, HEAD, POST, OPTIONS"}}) {
    const auto got = g.call("OPTIONS " + std::string(path), from_page + "Access-Control-Request-Method: POST\r\n");
    CHECK(got.status == 204);
    CHECK(got.has("Allow: " + std::string(methods)));
    CHECK_FALSE(has_cors(got));
    CHECK(got.head.find("Vary") == std::string::npos);
  }
  CHECK_FALSE(has_cors(g.call("GET /v1/models", from_page)));
}

TEST_CASE("added fields are in whole answers and streams, and the rest passes through") {
  http::test::mailbox<std::string> seen;
  http::test::running_server s([&](const std::shared_ptr<http::exchange>& x) {
    const auto path = x->request().path;
    x->on_gone([] {});
    const auto wrapped = gateway::with_fields(x, fields({{"Vary", "Origin"}}));
    if (path == "/whole")
      return wrapped->reply(200, http::test::text_plain(), "all");
    wrapped->begin(200, http::test::text_plain());
    wrapped->write("piece", 100);
    wrapped->on_room([&] { seen.put("room"); });
    if (path == "/stream")
      wrapped->end();
    else if (path == "/close")
      wrapped->close();
    else
      wrapped->abort();
  });
  const auto get = [&](const std::string& path) {
    auto c = s.client();
    REQUIRE(c.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"));
    return c.receive();
  };
  const auto whole = get("/whole");
  CHECK(whole.body == "all");
  CHECK(whole.has("Vary: Origin"));
  CHECK(whole.has("Content-Type: text/plain"));
  const auto stream = get("/stream");
  CHECK(stream.body == "piece");
  CHECK(stream.has("Vary: Origin"));
  CHECK(seen.take() == "room");
  CHECK(get("/close").body == "piece<cut>");
  auto aborted = s.client();
  REQUIRE(aborted.send("GET /abort HTTP/1.1\r\nHost: a\r\n\r\n"));
  aborted.receive_all();
  CHECK(aborted.is_reset());
}
