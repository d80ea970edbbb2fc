#include "support.hpp"
#include "switchyard/json/config_to_json.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace json = boost::json;

namespace {

/// Every member of `part` is in `whole`, with the same value.
void check_within(const json::value& part, const json::value& whole, const std::string& place) {
  INFO(place);
  if (!part.is_object()) {
    CHECK(part == whole);
    return;
  }
  REQUIRE(whole.is_object());
  for (const auto& member : part.get_object()) {
    const auto inner = place + "/" + std::string(member.key());
    INFO(inner);
    REQUIRE(whole.get_object().contains(member.key()));
    check_within(member.value(), whole.get_object().at(member.key()), inner);
  }
}

} // namespace

TEST_CASE("the configuration shown has the shape of the file, with every default") {
  const auto shown = json::value(config_to_json(loaded(smallest)));
  check_within(parse(R"({
    "circuits": {"default": {"scope": "provider", "consecutive_failures": 5, "cooldown": "30s", "max_cooldown": "5m", "window": null, "canary": null}},
    "providers": {"alpha": {"base_url": "http://127.0.0.1:9/v1", "circuit": "default", "tls": null, "max_response": "64MiB", "stream_usage": "as_sent",
      "timeouts": {"first_byte": null, "attempt": "5m"}}},
    "routes": {"chat": {"provider": "alpha", "model": "m", "fallback": [], "context_tokens": null, "retry": {"multiplier": 2}}},
    "cache": {"enabled": false, "max_bytes": "256MiB"}, "budgets": [], "gateway": {"cors": null, "tenants": {}}, "cluster": null})"),
               shown, "");
  CHECK_FALSE(shown.at("admin").as_object().contains("token_env"));
}

TEST_CASE("the configuration shown is what was given") {
  const auto shown = json::value(config_to_json(loaded(full)));
  check_within(parse(R"({
    "circuits": {"llm": {"window": {"type": "count", "size": 20, "failure_rate": 0.3}}, "slow": {"scope": "region", "window": {"type": "time", "size": "1m"}}},
    "providers": {"openai": {"api_key_env": "OPENAI_API_KEY", "trips": ["connection", "timeout"], "query": {"api-version": "2024-10-21"},
      "prices": {"gpt-4o": {"input_per_million": 2.5, "output_per_million": 10}}}, "local": {"circuit": null}},
    "routes": {"Chat": {"fallback": ["chat-local"], "fallback_on": ["auth"], "context_tokens": 128000}},
    "idempotency": {"durability": "power"}, "gateway": {"tenants": {"acme": {"key_env": "ACME_KEY"}}}})"),
               shown, "");
}

TEST_CASE("the configuration shown has no secret, only the names of variables") {
  const auto text = with(with(full, "/providers/openai/headers/authorization", "\"Bearer literal-do-not-tell\""),
                         "/providers/openai/query/api_key", "\"query-do-not-tell\"");
  const auto shown = config_to_json(loaded(text));
  CHECK_FALSE(contains(json::serialize(shown), "do-not-tell"));
  const auto& provider = shown.at("providers").at("openai");
  CHECK(provider.at("headers").at("authorization") == "***");
  CHECK(provider.at("headers").at("api-key") == json::value{{"env", "AZURE_KEY"}});
  CHECK(provider.at("query").at("api_key") == "***");
}

TEST_CASE("the configuration shown loads again, to the same") {
  for (const auto text : {smallest, full}) {
    const auto once = config_to_json(loaded(text));
    const auto again = config_to_json(loaded(json::serialize(once)));
    CHECK(json::serialize(once) == json::serialize(again));
  }
}

TEST_CASE("what this version does not have is shown as well") {
  config conf = loaded(smallest);
  conf.cluster.emplace();
  conf.cluster->node = "a";
  conf.cluster->ca = "ca.pem";
  conf.budgets.emplace_back().requests = 5;
  conf.circuits["default"].canary.emplace().body = R"({"max_tokens":5})";
  conf.gateway.cors_origins = {"https://example.org"};
  conf.gateway.tls.emplace();
  check_within(
      parse(
          R"({"cluster": {"node": "a", "tls": {"ca": "ca.pem"}}, "budgets": [{"tenant": "*", "requests": 5, "tokens": null, "route": "*", "window": "1d", "cost": null}],
    "circuits": {"default": {"canary": {"body": {"max_tokens": 5}}}}, "gateway": {"cors": {"origins": ["https://example.org"]}, "tls": {}}})"),
      config_to_json(conf), "");
}
