#include "support.hpp"
#include "support/temp_dir.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

using namespace switchyard;
using namespace switchyard::test;

TEST_CASE("providers and routes are enough, and every other key has its default") {
  const auto conf = loaded(smallest);
  const auto& provider = conf.providers.at("alpha");
  CHECK(provider.name == "alpha");
  CHECK(provider.base_url == "http://127.0.0.1:9/v1");
  CHECK(provider.circuit == "default");
  CHECK(provider.max_concurrency == 256);
  CHECK(provider.timeouts.connect == 2s);
  CHECK_FALSE(provider.timeouts.first_byte.has_value());
  CHECK(provider.trips == default_trips());
  CHECK(provider.api_key.empty());
  const auto& circuit = conf.circuits.at("default");
  CHECK(circuit.consecutive_failures == 5);
  CHECK(circuit.cooldown == 30s);
  CHECK(circuit.max_cooldown == 5min);
  CHECK_FALSE(circuit.window.has_value());
  CHECK_FALSE(circuit.canary.has_value());
  const auto& route = conf.routes.at("chat");
  CHECK(route.name == "chat");
  CHECK(route.deadline == 10min);
  CHECK(route.retry.max_attempts == 3);
  CHECK(route.active);
  CHECK(conf.telemetry.retention == 720h);
  CHECK(conf.gateway.max_body == 16u << 20);
  CHECK(conf.gateway.tenants.empty());
  CHECK_FALSE(conf.cluster.has_value());
  CHECK(conf.warnings.empty());
}

TEST_CASE("every documented section together is accepted") {
  const auto conf = loaded(full);
  const auto& window = conf.circuits.at("llm").window;
  REQUIRE(window.has_value());
  CHECK(window->type == window_settings::kind::count);
  CHECK(window->size == 20);
  CHECK(window->failure_rate == 0.3);
  CHECK(window->slow_call_rate == 0.5);
  REQUIRE(conf.circuits.at("slow").window.has_value());
  CHECK(conf.circuits.at("slow").window->span == 60s);
  CHECK(conf.circuits.at("slow").scope == circuit_scope::region);
  const auto& provider = conf.providers.at("openai");
  CHECK(provider.api_key.reveal() == "sk-openai-do-not-tell");
  CHECK(provider.headers.at("api-key").value.reveal() == "azure-do-not-tell");
  CHECK(provider.headers.at("x-team").text == "blue");
  CHECK(provider.query.at("api-version") == "2024-10-21");
  CHECK(provider.trips == failure_set{failure_class::connection, failure_class::timeout});
  CHECK(provider.timeouts.first_byte == 60s);
  CHECK_FALSE(provider.timeouts.stream.has_value());
  CHECK(provider.prices.at("gpt-4o").output_per_million == 10);
  CHECK_FALSE(conf.providers.at("local").circuit.has_value());
  const auto& route = conf.routes.at("chat");
  CHECK(route.region == "eu");
  CHECK(route.fallback == std::vector<std::string>{"chat-local"});
  CHECK(route.fallback_on == failure_set{failure_class::auth});
  CHECK(route.context_tokens == 128000u);
  CHECK(conf.idempotency.durability == idempotency_settings::durability_mode::power);
  CHECK(conf.gateway.tenants.at("acme").key.reveal() == "acme-do-not-tell");
  CHECK(conf.gateway.tenants.at("acme").name == "acme");
  CHECK(conf.admin.token.reveal() == "admin-do-not-tell");
}

TEST_CASE("routes are kept by folded id, and their order is that of the file [B1]") {
  const auto conf = loaded(R"({"providers": {"a": {"base_url": "http://h"}}, "routes": {
    "Zeta": {"provider": "a", "model": "m"}, "ALPHA": {"provider": "a", "model": "m"}, "mid": {"provider": "a", "model": "m"}}})");
  CHECK(conf.route_order == std::vector<std::string>{"Zeta", "ALPHA", "mid"});
  CHECK(conf.routes.size() == 3);
  CHECK(conf.routes.at("zeta").name == "zeta");
}

TEST_CASE("a fallback that does not exist or is inactive is a warning only [B2]") {
  const auto conf = loaded(R"({"providers": {"a": {"base_url": "http://h"}}, "routes": {
    "chat": {"provider": "a", "model": "m", "fallback": ["nowhere", " BACKUP ", "good", "Chat"]},
    "backup": {"provider": "a", "model": "m", "active": false}, "good": {"provider": "a", "model": "m"}}})");
  REQUIRE(conf.warnings.size() == 3);
  CHECK(contains(conf.warnings[0], "/routes/chat/fallback/0: \"nowhere\": no such route"));
  CHECK(contains(conf.warnings[1], "/routes/chat/fallback/1: \" BACKUP \": this route is inactive"));
  CHECK(contains(conf.warnings[2], "/routes/chat/fallback/3"));
}

TEST_CASE("a budget of cost warns of the routes whose model has no price: they count nothing there [U1, U2]") {
  const auto conf = loaded(
      R"({"providers": {"a": {"base_url": "http://h", "prices": {"m": {"input_per_million": 1, "output_per_million": 2}}}},
    "routes": {"chat": {"provider": "a", "model": "m"}, "other": {"provider": "a", "model": "n"},
               "off": {"provider": "a", "model": "x", "active": false},
               "falls": {"provider": "a", "model": "m", "fallback": ["Other", "off", "chat"]}},
    "budgets": [{"cost": 5}, {"cost": 5, "route": "Chat"}, {"tokens": 5}, {"cost": 5, "route": "Falls"},
                {"cost": 5, "route": "off"}]})");
  const auto of_unpriced = [](const std::string& warning) { return contains(warning, "/cost: "); };
  std::vector<std::string> found;
  std::ranges::copy_if(conf.warnings, std::back_inserter(found), of_unpriced);
  CHECK(found ==
        std::vector<std::string>{
            "/budgets/0/cost: route \"other\" has no price for its model \"n\"; what it serves counts nothing",
            "/budgets/3/cost: route \"other\" has no price for its model \"n\"; what it serves counts nothing"});
}

TEST_CASE("whole numbers may be written as 5.0 or 1e3, and sizes as numbers or with a unit") {
  CHECK(loaded(with(smallest, "/circuits/default/consecutive_failures", "5.0"))
            .circuits.at("default")
            .consecutive_failures == 5);
  CHECK(loaded(with(smallest, "/gateway/max_in_flight", "1e3")).gateway.max_in_flight == 1000);
  CHECK(loaded(with(smallest, "/gateway/max_body", "1024")).gateway.max_body == 1024);
  CHECK(loaded(with(smallest, "/gateway/max_body", "\"2KB\"")).gateway.max_body == 2000);
}

TEST_CASE("a slash at the end of a base URL makes no double slash") {
  CHECK(loaded(with(smallest, "/providers/alpha/base_url", "\"https://h:8443/v1//\"")).providers.at("alpha").base_url ==
        "https://h:8443/v1");
  CHECK(loaded(with(smallest, "/providers/alpha/base_url", "\"http://h/\"")).providers.at("alpha").base_url ==
        "http://h");
}

TEST_CASE("a default maximum follows a larger value that was given") {
  CHECK(loaded(with(smallest, "/circuits/default/cooldown", "\"20m\"")).circuits.at("default").max_cooldown == 20min);
  CHECK(loaded(with(smallest, "/routes/chat/retry/base_delay", "\"20s\"")).routes.at("chat").retry.max_delay == 20s);
  const auto conf = loaded(with(smallest, "/circuits/default/window", R"({"size": 4, "failure_rate": 0.5})"));
  CHECK(conf.circuits.at("default").window->minimum_calls == 4);
}

TEST_CASE("a file is loaded, and errors name it") {
  const temp_dir folder;
  const auto good = folder.write("good.json", smallest);
  CHECK(load_config(good, environment_of({})).has_value());
  const auto bad = folder.write("bad.json", with(smallest, "/cache/ttl", "\"banana\""));
  const auto result = load_config(bad, environment_of({}));
  REQUIRE(result.has_error());
  CHECK(contains(result.error().text(), bad + ":1: /cache/ttl: \"banana\": accepted: a duration"));
}

TEST_CASE("a file that is missing, a folder or empty is refused by name") {
  const temp_dir folder;
  for (const auto& path : {(folder.path() / "missing.json").string(), folder.path().string(),
                           folder.write("empty.json", ""), std::string()}) {
    const auto result = load_config(path, environment_of({}));
    REQUIRE(result.has_error());
    REQUIRE(result.error().problems.size() == 1);
    CHECK(contains(result.error().text(), path));
    CHECK_FALSE(result.error().problems[0].message.empty());
  }
}

TEST_CASE("certificate files must be readable, and the error says which") {
  const temp_dir folder;
  const auto ca = folder.write("ca.pem", "-----BEGIN CERTIFICATE-----\n");
  CHECK(loaded(with(smallest, "/providers/alpha/tls", "{\"ca\": \"" + ca + "\"}")).providers.at("alpha").tls_ca == ca);
  for (const auto& path : {(folder.path() / "missing.pem").string(), folder.path().string()}) {
    const auto error = refused(with(smallest, "/providers/alpha/tls", "{\"ca\": \"" + path + "\"}"));
    REQUIRE(error.problems.size() == 1);
    CHECK(error.problems[0].pointer == "/providers/alpha/tls/ca");
    CHECK(contains(error.text(), path));
  }
}

TEST_CASE("the gateway's certificate, key and pages are loaded") {
  const temp_dir folder;
  const auto pem = folder.write("own.pem", "-----BEGIN CERTIFICATE-----\n");
  const auto tls =
      loaded(with(smallest, "/gateway/tls", R"({"certificate": ")" + pem + R"(", "key": ")" + pem + "\"}")).gateway.tls;
  REQUIRE(tls);
  CHECK(tls->certificate == pem);
  CHECK(tls->key == pem);
  const auto pages = R"({"origins": ["https://example.org", "*"]})";
  CHECK(loaded(with(smallest, "/gateway/cors", pages)).gateway.cors_origins.size() == 2);
}

TEST_CASE("value() of a refused configuration throws its text") {
  auto result = load_text("[]");
  std::string what;
  try {
    static_cast<void>(result.value());
  } catch (const std::runtime_error& error) {
    what = error.what();
  }
  CHECK(contains(what, "test.json:1: []: accepted: an object"));
}
