#include "support/catch.hpp"
#include "switchyard/engine/validate.hpp"

#include <algorithm>
#include <cmath>

using namespace switchyard;

namespace {

config built() {
  config conf;
  conf.providers["alpha"].base_url = "http://127.0.0.1:9";
  conf.routes["chat"].provider = "alpha";
  conf.routes["chat"].model = "m";
  complete(conf);
  return conf;
}

std::vector<std::string> pointers(const config& conf) {
  std::vector<std::string> found;
  for (const auto& problem : validate(conf).problems)
    found.push_back(problem.pointer);
  return found;
}

using names = std::vector<std::string>;

} // namespace

TEST_CASE("a configuration built in code is completed and valid") {
  const auto conf = built();
  CHECK(validate(conf).ok());
  CHECK(conf.circuits.contains("default"));
  CHECK(conf.providers.at("alpha").name == "alpha");
  CHECK(conf.routes.at("chat").name == "chat");
  CHECK(conf.route_order == names{"chat"});
}

TEST_CASE("an empty configuration lacks providers and routes") {
  CHECK(pointers(config{}) == names{"/providers", "/routes"});
}

TEST_CASE("every field is checked against its rule, whoever set it") {
  auto conf = built();
  conf.circuits["default"].consecutive_failures = 0;
  conf.circuits["default"].cooldown_multiplier = std::nan("");
  conf.circuits["default"].unresponsive_after = -1s;
  conf.circuits["default"].window.emplace().failure_rate = HUGE_VAL;
  conf.providers["alpha"].timeouts.stream = 0s;
  conf.routes["chat"].fallback_on = {failure_class::timeout};
  conf.routes["chat"].retry.max_attempts = 101;
  conf.gateway.listen = "nowhere";
  conf.telemetry.path.clear();
  CHECK(pointers(conf) == names{"/circuits/default/consecutive_failures", "/circuits/default/cooldown_multiplier",
                                "/circuits/default/unresponsive_after", "/circuits/default/window/failure_rate",
                                "/providers/alpha/timeouts/stream", "/routes/chat/fallback_on",
                                "/routes/chat/retry/max_attempts", "/gateway/listen"});
}

TEST_CASE("a problem shows the value as JSON and what is accepted") {
  auto conf = built();
  conf.routes["chat"].deadline = -90s;
  const auto found = validate(conf);
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0].value == "\"-90s\"");
  CHECK(found.problems[0].message ==
        "accepted: a duration with a unit (ms, s, m, h, d) such as \"30s\", above 0s, at most 3650d");
}

TEST_CASE("route ids are folded, and those that clash are refused [B1]") {
  auto conf = built();
  conf.routes["Other"] = conf.routes["chat"];
  complete(conf);
  CHECK(conf.routes.contains("other"));
  CHECK(conf.route_order == names{"chat", "Other"});
  CHECK(validate(conf).ok());
  conf.routes["CHAT"] = conf.routes["chat"];
  complete(conf);
  CHECK(conf.routes.size() == 3);
  CHECK(pointers(conf) == names{"/routes/CHAT"});
}

TEST_CASE("completing twice changes nothing") {
  auto once = built();
  once.routes["B"] = once.routes["chat"];
  complete(once);
  auto twice = once;
  complete(twice);
  CHECK(twice.route_order == once.route_order);
  CHECK(twice.routes.size() == once.routes.size());
}

TEST_CASE("keys set in code are checked, and never shown") {
  auto conf = built();
  conf.providers["alpha"].api_key = secret{"do-not-tell\r\n"};
  conf.gateway.tenants["a"].key = secret{"same"};
  conf.gateway.tenants["b"].key = secret{"same"};
  conf.gateway.tenants["c"].key = secret{"do not tell"};
  conf.gateway.tenants["d"];
  CHECK(pointers(conf) == names{"/gateway/tenants/d/key_env", "/providers/alpha/api_key_env",
                                "/gateway/tenants/b/key_env", "/gateway/tenants/c/key_env"});
  for (const auto& problem : validate(conf).problems) {
    CHECK(problem.value.empty());
    CHECK(problem.message.find("tell") == std::string::npos);
  }
}

TEST_CASE("pointers escape what names may hold") {
  CHECK(child_pointer("/a", "b/c~d") == "/a/b~1c~0d");
  CHECK(child_pointer("", "") == "/");
  CHECK(json_quoted("a\"b\\\n\x7f") == R"("a\"b\\\u000a\u007f")");
}

TEST_CASE("a circuit profile that nobody has is refused, null and default are not") {
  auto conf = built();
  conf.providers["alpha"].circuit = "llm";
  CHECK(pointers(conf) == names{"/providers/alpha/circuit"});
  conf.providers["alpha"].circuit.reset();
  CHECK(validate(conf).ok());
}
