#pragma once

#include "adapters/http/server/fixture.hpp"
#include "support/memory_stores.hpp"
#include "support/scripted_provider.hpp"

#include "switchyard/actors/request_result.hpp"
#include "switchyard/admin/admin.hpp"
#include "switchyard/runtime/core.hpp"

#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace switchyard::admin::test {

namespace json = boost::json;
using http::test::answer;
using http::test::mailbox;
using http::test::raw_client;

/// Answers every attempt at once, on the I/O thread that began it.
class instant_provider final : public provider {
public:
  explicit instant_provider(provider_result result) : result_(std::move(result)) {}

  std::shared_ptr<attempt_handle> start(provider_request, std::shared_ptr<attempt_listener> listener) override {
    struct handle final : attempt_handle {
      void cancel() noexcept override {}
      bool responded() const noexcept override { return true; }
    };
    boost::asio::post(threads->pick(), [result = result_, listener = std::move(listener)]() mutable {
      listener->on_attempt_done(std::move(result));
    });
    return std::make_shared<handle>();
  }

  http::io_threads* threads = nullptr; ///< of the core that calls it

private:
  provider_result result_;
};

inline provider_result usable_answer() {
  return switchyard::test::answer_of(R"({"choices":[{"message":{"content":"hello"}}]})");
}

inline provider_result server_error() {
  return switchyard::test::http_error(500, failure_class::server_error);
}

/// Routes "chat" to provider "good", "bad" to "broken" and "region" to a provider with a circuit for each region.
/// Circuits open at the second failure, for a minute.
inline config three_routes() {
  config c;
  c.circuits["default"].consecutive_failures = 2;
  c.circuits["default"].cooldown = std::chrono::minutes{1};
  c.circuits["by-region"] = c.circuits["default"];
  c.circuits["by-region"].scope = circuit_scope::region;
  const auto add = [&](const std::string& route, const std::string& provider, const std::string& model) {
    c.providers[provider].name = provider;
    c.providers[provider].base_url = "http://127.0.0.1:9";
    auto& r = c.routes[route];
    r.name = route;
    r.provider = provider;
    r.model = model;
    r.retry.max_attempts = 1;
    c.route_order.push_back(route);
  };
  add("chat", "good", "m");
  add("bad", "broken", "m");
  add("region", "wide", "a/b");
  c.providers["wide"].circuit = "by-region";
  c.routes["region"].region = "eu";
  return c;
}

/// A core with its admin plane.
class running_admin {
public:
  explicit running_admin(config c = three_routes(), http::server_options options = {}) {
    core_options o;
    o.in_memory = true;
    o.io_threads = 2;
    o.telemetry = telemetry;
    const auto good = std::make_shared<instant_provider>(usable_answer());
    const auto bad = std::make_shared<instant_provider>(server_error());
    o.providers["good"] = good;
    o.providers["broken"] = o.providers["wide"] = bad;
    auto started = core::start(std::move(c), std::move(o));
    if (!started)
      throw std::runtime_error(started.error().message);
    engine = *std::move(started);
    good->threads = bad->threads = &engine->threads();
    auto listening = http::listen(engine->threads(), options, make_handler(engine), format_refusal);
    if (!listening)
      throw std::runtime_error(listening.error());
    server = *listening;
    port = http::test::port_of(server->address());
  }
  ~running_admin() {
    engine->stop(duration::zero());
    server.reset();
  }

  raw_client client(int receive_buffer = 0) const { return raw_client(port, receive_buffer); }

  answer call(std::string_view method, std::string_view target, std::string_view body = {},
              std::string_view more_headers = {}) const {
    auto c = client();
    std::string text;
    text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    text.append(more_headers).append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
    REQUIRE(c.send(text.append(body)));
    return c.receive(method == "HEAD");
  }

  /// The JSON object of an answer 200.
  json::object get(std::string_view target) const {
    const auto got = call("GET", target);
    INFO(got.body);
    REQUIRE(got.status == 200);
    CHECK(got.has("Content-Type: application/json"));
    return json::parse(got.body).as_object();
  }

  /// Sends a request to a route and waits for its end.
  std::shared_ptr<const request_result> submit(const std::string& route, const std::string& id = {}) const {
    submission s;
    s.request_id = id;
    s.route = route;
    s.operation = "/v1/chat/completions";
    s.path = "/chat/completions";
    s.body = std::make_shared<const std::string>(R"({"model":")" + route + R"(","messages":[]})");
    s.view = *openai::inspect_request(*s.body);
    const auto ended = std::make_shared<mailbox<std::shared_ptr<const request_result>>>();
    REQUIRE(engine->submit(std::move(s), [ended](auto result) { ended->put(std::move(result)); }));
    return ended->take();
  }

  json::object circuit(std::string_view id) const {
    const auto all = get("/admin/circuits");
    for (const auto& c : all.at("circuits").as_array())
      if (c.at("id") == json::value(id))
        return c.as_object();
    throw std::runtime_error("no circuit " + std::string{id});
  }

  std::shared_ptr<switchyard::test::memory_telemetry_log> telemetry =
      std::make_shared<switchyard::test::memory_telemetry_log>();
  std::shared_ptr<core> engine;
  std::shared_ptr<http::server> server;
  std::uint16_t port = 0;
};

/// The `error` object of an answer, whose form is checked.
inline json::object error_of(const answer& got) {
  INFO(got.body);
  CHECK(got.has("Content-Type: application/json"));
  auto error = json::parse(got.body).at("error").as_object();
  CHECK(error.at("type") == "switchyard_error");
  CHECK(error.at("param").is_null());
  CHECK_FALSE(error.at("message").as_string().empty());
  return error;
}

inline std::string message_of(const answer& got) {
  return std::string{error_of(got).at("message").as_string()};
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

} // namespace switchyard::admin::test
