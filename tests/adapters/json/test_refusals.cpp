#include "support.hpp"

#include <vector>

using namespace switchyard;
using namespace switchyard::test;

namespace {

/// The configuration with one value changed has exactly one problem, at that place, which shows the value and says
/// what is accepted.
void check_refused(const std::string& pointer, const std::string& value, std::string_view says = "accepted: ") {
  INFO(pointer << " = " << value);
  const auto error = refused(with(full, pointer, value));
  INFO(error.text());
  REQUIRE(error.problems.size() == 1);
  const auto& problem = error.problems.front();
  CHECK(problem.pointer == pointer);
  CHECK(problem.line == 1);
  CHECK(contains(problem.message, says));
  if (const char first = value.front(); first != '{' && first != '[')
    CHECK((problem.value == value || problem.value == "***" || problem.value.empty()));
}

} // namespace

TEST_CASE("senseless numbers are refused [C1, R2]") {
  for (const auto* value : {"0", "-1", "2.5", "\"5\"", "null", "true", "[]", "{}", "1e999", "1000001", "4294967301",
                            "18446744073709551616", "99999999999999999999999", "1e20", "-0.0001"}) {
    check_refused("/circuits/default/consecutive_failures", value, "a whole number from 1 to 1000000");
  }
  for (const auto* pointer :
       {"/circuits/default/probes", "/routes/Chat/retry/max_attempts", "/providers/openai/max_concurrency",
        "/gateway/max_in_flight", "/routes/Chat/context_tokens", "/health/minimum_samples"}) {
    for (const auto* value : {"0", "-3", "1.5", "\"many\"", "18446744073709551615"})
      check_refused(pointer, value, "a whole number from 1 to");
  }
  for (const auto* pointer : {"/circuits/default/cooldown_multiplier", "/routes/Chat/retry/multiplier"}) {
    for (const auto* value : {"0", "-1", "0.999", "1e999", "\"2\"", "null"})
      check_refused(pointer, value, "a number from 1 to 1000");
  }
  for (const auto* value : {"-0.1", "1.01", "1e999", "-1e999", "\"0.5\"", "null"}) {
    check_refused("/routes/Chat/retry/jitter", value, "a number from 0 to 1");
    check_refused("/circuits/default/cooldown_jitter", value, "a number from 0 to 1");
  }
  for (const auto* value : {"-1", "1e999", "\"free\"", "null"})
    check_refused("/providers/openai/prices/gpt-4o/input_per_million", value, "a number from 0 to");
}

TEST_CASE("what is not a number is refused for a rate, however it is written [C1]") {
  for (const auto* value : {"1e999", "-1e999", "\"NaN\"", "\"Infinity\"", "-0.5", "0", "0.0", "-0", "1.5", "true"})
    check_refused("/circuits/llm/window/failure_rate", value, "a number above 0, at most 1");
  for (const auto* value : {"NaN", "Infinity", "-Infinity", "nan", "0x1", "1e99999999999", ".5", "+1", "01"}) {
    INFO(value);
    const auto error = refused(with(full, "/circuits/llm/window/failure_rate", value));
    REQUIRE(error.problems.size() == 1);
    CHECK(error.problems[0].line == 1);
    CHECK(error.problems[0].column > 1);
  }
}

TEST_CASE("senseless durations are refused [C5, B8]") {
  for (const auto* pointer :
       {"/circuits/default/cooldown", "/providers/openai/timeouts/first_byte", "/routes/Chat/deadline",
        "/idempotency/ttl", "/cache/ttl", "/telemetry/retention", "/gateway/header_timeout"}) {
    for (const auto* value : {"\"5\"", "\"0s\"", "\"0.0ms\"", "\"-1s\"", "\"nan s\"", "\"soon\"", "\"\"", "5", "true",
                              "{}", "\"3651d\"", "\"1e3s\""})
      check_refused(pointer, value, "accepted: a duration");
  }
  check_refused("/cache/stale_if_error", "\"-1s\"", "from 0s");
  check_refused("/health/window", "\"8d\"", "from 1s to 7d");
}

TEST_CASE("a key that was pasted where no text belongs was shown in the error") {
  for (const auto* pointer : {"/providers/openai", "/providers", "/gateway/tenants", "/gateway/tenants/acme", "/admin",
                              "/gateway/tls", "/providers/openai/query", "/circuits/llm/canary/body", "/budgets"}) {
    for (const auto* value : {"\"sk-secret\"", "[{\"api_key\":\"sk-secret\"}]", "[ \"sk-secret\" ]"}) {
      if (std::string_view{pointer} == "/budgets" && *value == '[')
        continue; // where an array is right, its entries are told of one by one
      INFO(pointer << " = " << value);
      const auto text = refused(with(full, pointer, value)).text();
      CHECK(contains(text, std::string{pointer} + ": ***: accepted: "));
      CHECK_FALSE(contains(text, "sk-secret"));
    }
  }
  const auto text = refused(with(full, "/providers/openai/circuit", "{\"api_key\":\"sk-secret\"}")).text();
  CHECK(contains(text, "/providers/openai/circuit: ***: accepted: "));
}

TEST_CASE("senseless sizes are refused") {
  for (const auto* pointer : {"/gateway/max_body", "/providers/openai/max_response", "/cache/max_bytes"}) {
    for (const auto* value :
         {"0", "-1", "\"16MB/s\"", "\"\"", "1.5", "\"0B\"", "\"99999999999GiB\"", "null", "\"1.5MiB\""})
      check_refused(pointer, value, "a whole number of bytes");
  }
}

TEST_CASE("a name that is none of the choices is refused with the choices") {
  check_refused("/circuits/default/scope", "\"planet\"", "\"provider\", \"model\" or \"region\"");
  check_refused("/idempotency/concurrent", "\"Join\"", "\"join\" or \"reject\"");
  check_refused("/idempotency/durability", "1", "\"process\" or \"power\"");
  check_refused("/providers/openai/stream_usage", "true", "\"as_sent\" or \"inject\"");
  check_refused("/circuits/default/honour_retry_after", "\"yes\"", "true or false");
  check_refused("/routes/Chat/active", "1", "true or false");
}

TEST_CASE("failure classes are checked one by one [F1]") {
  auto error = refused(with(full, "/providers/openai/trips", R"(["timeout", "tiemout", "budget", 5])"));
  REQUIRE(error.problems.size() == 3);
  CHECK(error.problems[0].pointer == "/providers/openai/trips/1");
  CHECK(error.problems[0].value == "\"tiemout\"");
  CHECK(contains(error.problems[0].message, "accepted: one of \"connection\", \"timeout\"")); // not an array: one entry
  CHECK(contains(error.problems[0].message, "\"timeout\""));
  error = refused(with(full, "/routes/Chat/fallback_on", R"(["timeout"])"));
  CHECK(contains(error.text(), "one of \"auth\", \"context_length\", \"content_policy\", \"client_error\""));
  check_refused("/providers/openai/trips", "\"timeout\"");
  CHECK(loaded(with(full, "/providers/openai/trips", "[]")).providers.at("openai").trips.empty());
}

TEST_CASE("an unknown key names its place and its nearest neighbour, and not its value") {
  const std::vector<std::pair<std::string, std::string>> cases{{"/circuits/default/cooldwn", "cooldown"},
                                                               {"/routes/Chat/falback", "fallback"},
                                                               {"/routes/Chat/modle", "model"}, // two letters swapped
                                                               {"/cache/tlt", "ttl"},
                                                               {"/helth", "health"},
                                                               {"/providers/openai/timeouts/frist_byte", "first_byte"},
                                                               {"/circuits/llm/window/failure_rates", "failure_rate"},
                                                               {"/providers/openai/api_key", "api_key_env"},
                                                               {"/gateway/tenants/acme/key", "key_env"}};
  for (const auto& [pointer, neighbour] : cases) {
    INFO(pointer);
    const auto error = refused(with(full, pointer, "\"sk-secret\""));
    REQUIRE(problems_at(error, pointer).size() == 1);
    const auto expected = "did you mean \"" + neighbour + "\"?";
    CHECK(contains(problems_at(error, pointer)[0].message, expected));
    CHECK_FALSE(contains(error.text(), "sk-secret"));
  }
  const auto error = refused(with(full, "/cache/zzzzzz", "1"));
  CHECK(contains(error.text(), "unknown key; accepted: \"enabled\", \"ttl\", \"stale_if_error\" or \"max_bytes\""));
  CHECK(refused(with(full, "/" + std::string(100'000, 'x'), "1")).problems.size() == 1);
}

TEST_CASE("all mistakes are told at once, in the order of the file") {
  const auto error = refused(R"({
    "cache": { "ttl": "banana" },
    "circuits": { "default": { "consecutive_failures": 0 } },
    "providers": { "alpha": { "base_url": "ftp://h" }, "beta": 5 },
    "routes": {
      "chat": { "provider": "gamma", "model": "m", "retry": { "max_attempts": -1 } },
      "b": { "provider": "beta" } },
    "helth": {}
})");
  INFO(error.text());
  std::vector<std::string> pointers;
  for (const auto& problem : error.problems)
    pointers.push_back(problem.pointer);
  CHECK(pointers == std::vector<std::string>{"/cache/ttl", "/circuits/default/consecutive_failures", "/providers/beta",
                                             "/providers/alpha/base_url", "/routes/chat/retry/max_attempts",
                                             "/routes/chat/provider", "/routes/b/model", "/helth"});
  CHECK(std::ranges::count(error.text(), '\n') == 7);
}

TEST_CASE("a wrong type is refused wherever an object or array stands") {
  for (const auto* pointer :
       {"/circuits", "/circuits/default", "/providers/openai/timeouts", "/providers/openai/prices",
        "/providers/openai/query", "/routes/Chat/retry", "/health", "/gateway", "/gateway/tenants",
        "/gateway/tenants/acme", "/budgets", "/admin", "/store"}) {
    check_refused(pointer, "5");
    check_refused(pointer, "null");
  }
  check_refused("/routes/Chat/fallback", "\"chat-local\"", "an array");
  check_refused("/routes/Chat/fallback", "{}", "an array");
  check_refused("/circuits/llm/window", "true", "an object");
  check_refused("/providers/openai/tls", "\"ca.pem\"", "null or an object");
}

TEST_CASE("a problem stays one line, whatever a key holds") {
  const auto text =
      refused(
          R"({"providers": {"a": {"base_url": "http://h", "x\ny\u001b[31m": 1}}, "routes": {"r": {"provider": "a", "model": "m"}}})")
          .text();
  CHECK_FALSE(contains(text, "\n"));
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK(contains(text, "/providers/a/x\\x0ay\\x1b[31m"));
}

TEST_CASE("at least one provider and one route are needed") {
  CHECK(problems_at(refused("{}"), "/providers").size() == 1);
  CHECK(problems_at(refused("{}"), "/routes").size() == 1);
  CHECK(contains(refused(R"({"providers": {}, "routes": {}})").text(), "/providers: is required: at least one entry"));
  CHECK(refused(R"({"providers": null, "routes": []})").problems.size() == 2);
}

TEST_CASE("what a route or provider needs is asked for") {
  auto error = refused(R"({"providers": {"a": {}}, "routes": {"r": {}}})");
  INFO(error.text());
  CHECK(error.problems.size() == 3);
  CHECK(problems_at(error, "/providers/a/base_url").size() == 1);
  CHECK(problems_at(error, "/routes/r/provider").size() == 1);
  CHECK(problems_at(error, "/routes/r/model").size() == 1);
  check_refused("/routes/Chat/model", "\"\"", "not empty");
  check_refused("/routes/Chat/model", "5", "not empty");
}

TEST_CASE("names that lead nowhere are refused with the known ones") {
  check_refused("/routes/Chat/provider", "\"opanai\"", "\"local\", \"openai\"");
  check_refused("/providers/openai/circuit", "\"lllm\"", "\"default\", \"llm\", \"slow\"");
}

TEST_CASE("two route ids that differ only in case are refused [B1]") {
  const auto error = refused(R"({"providers": {"a": {"base_url": "http://h"}},
    "routes": {"Chat": {"provider": "a", "model": "m"},
      "chaT": {"provider": "a", "model": "m", "deadline": "0"}}})");
  INFO(error.text());
  REQUIRE(problems_at(error, "/routes/chaT").size() == 1);
  CHECK(contains(problems_at(error, "/routes/chaT")[0].message, "\"Chat\""));
  CHECK(problems_at(error, "/routes/chaT")[0].line == 3);
  CHECK(problems_at(error, "/routes/chaT/deadline").size() == 1);
}

TEST_CASE("a route that is one already hid what was wrong inside it [B1]") {
  for (const auto* names : {"chat CHAT", "CHAT chat", "Chat chaT"}) {
    const std::string both{names}, first = both.substr(0, 4), second = both.substr(5);
    const auto error =
        refused(R"({"providers": {"a": {"base_url": "http://h"}}, "budgets": [{"route": "chat", "requests": 1}],
      "routes": {")" +
                first + R"(": {"provider": "a", "model": "m"},
        ")" + second +
                R"(": {"provider": "b", "deadline": "0"}}})");
    INFO(error.text());
    CHECK(error.problems.size() == 4);
    CHECK(contains(error.text(), "test.json:3: /routes/" + second + ": is the same route as \"" + first + "\""));
    CHECK(problems_at(error, "/routes/" + second + "/model").size() == 1);
    CHECK(problems_at(error, "/routes/" + second + "/deadline").size() == 1);
    CHECK(problems_at(error, "/routes/" + second + "/provider").size() == 1);
  }
}

TEST_CASE("a route's name with white space around it was taken for another name [B1]") {
  for (const auto* name : {" y", "y ", " y "}) {
    const auto error = refused(R"({"providers": {"a": {"base_url": "http://h"}},
      "routes": {")" + std::string(name) +
                               R"(": {"provider": "a", "model": "m"}}})");
    INFO(error.text());
    REQUIRE(error.problems.size() == 1);
    CHECK(error.problems[0].pointer == "/routes/" + std::string(name));
    CHECK(contains(error.problems[0].message, "without control characters or white space around it"));
  }
}

TEST_CASE("a name that is not accepted was not told where something inside was wrong too") {
  const auto error =
      refused(R"({"providers": {"a": {"base_url": "http://h"}, " b": {"base_url": "http://h", "timeouts": 5}},
    "routes": {"r": {"provider": "a", "model": "m"}}})");
  INFO(error.text());
  CHECK(problems_at(error, "/providers/ b").size() == 1);
  CHECK(problems_at(error, "/providers/ b/timeouts").size() == 1);
}

TEST_CASE("names of providers, routes and profiles have to be usable") {
  for (const auto& name : {std::string(), std::string(129, 'x'), std::string("a\\nb"), std::string(" a")}) {
    const auto error =
        refused(R"({"providers": {"a": {"base_url": "http://h"}, ")" + name + R"(": {"base_url": "http://h"}},
      "routes": {"r": {"provider": "a", "model": "m"}}, "circuits": {")" +
                name + R"(": {}}})");
    INFO(error.text());
    CHECK(error.problems.size() == 2);
    CHECK(contains(error.text(), "this name is not accepted"));
  }
}

TEST_CASE("a base URL is http or https with a host, without user, query or fragment") {
  for (const auto* url : {"\"ftp://h\"", "\"h/v1\"", "\"http://\"", "\"http:///v1\"", "\"http://h/v1?a=b\"",
                          "\"http://h/v1#f\"", "\"http://h:99999/\"", "\"http://h:0/\"", "\"http://h:x/\"",
                          "\"http://h:80x/\"", "\"http://h:/\"", "\"http://[::1]x/\"", "\"http://[::1/\"",
                          "\"http://h h/\"", "\"http://%zz/\"", "\"http://:80\"", "\"https://h/\\n\"", "\"\"", "5"}) {
    check_refused("/providers/openai/base_url", url);
  }
  const auto error = refused(with(full, "/providers/openai/base_url", "\"https://user:pass-do-not-tell@h/v1\""));
  CHECK(error.problems.size() == 1);
  CHECK_FALSE(contains(error.text(), "do-not-tell"));
}

TEST_CASE("addresses are checked, and an admin plane off loopback needs a token") {
  for (const auto* address : {"\"8080\"", "\":8080\"", "\"127.0.0.1\"", "\"127.0.0.1:65536\"", "\"::1:80\"",
                              "\"http://127.0.0.1:80\"", "8080"}) {
    check_refused("/gateway/listen", address, "HOST:PORT");
    check_refused("/admin/listen", address, "HOST:PORT");
  }
  CHECK(loaded(with(full, "/admin/listen", "\"0.0.0.0:9090\"")).admin.listen == "0.0.0.0:9090");
  const auto error = refused(with(smallest, "/admin/listen", "\"0.0.0.0:9090\""));
  REQUIRE(error.problems.size() == 1);
  CHECK(error.problems[0].pointer == "/admin/listen");
  CHECK(contains(error.problems[0].message, "token_env"));
  loaded(with(smallest, "/admin/listen", "\"[::1]:0\""));
}

TEST_CASE("headers are tokens with values of one line, and none that frames a message") {
  for (const auto* name : {"a b", "", "x:y", "Host", "content-length", "Transfer-Encoding", "Expect", "TE", "Trailer",
                           "Keep-Alive", "Proxy-Connection", "accept-encoding"}) {
    const auto error = refused(with(full, "/providers/openai/headers", "{\"" + std::string(name) + "\": \"v\"}"));
    INFO(error.text());
    REQUIRE(error.problems.size() == 1);
    CHECK(contains(error.problems[0].pointer, "/providers/openai/headers/"));
  }
  for (const auto* value :
       {R"("do-not-tell\r\nX: y")", R"(5)", R"({"env": 5})", R"({"env": "A-do-not-tell"})", R"({"evn": "do-not-tell"})",
        R"({"env": "AZURE_KEY", "x": "do-not-tell"})", R"(["do-not-tell"])", "null"}) {
    const auto error = refused(with(full, "/providers/openai/headers", "{\"x\": " + std::string(value) + "}"));
    INFO(error.text());
    CHECK(error.problems.size() == 1);
    CHECK_FALSE(contains(error.text(), "do-not-tell"));
  }
  check_refused("/providers/openai/headers", "\"do-not-tell\"");
  CHECK(contains(refused(with(full, "/providers/openai/headers", R"({"X-A": "1", "x-a": "2"})")).text(),
                 "twice, in different case"));
}

TEST_CASE("a window needs a rate, and no more calls than it holds [C1, C2]") {
  check_refused("/circuits/llm/window", R"({"size": 20})", "failure_rate");
  check_refused("/circuits/llm/window/minimum_calls", "21", "at most the size of the window, 20");
  check_refused("/circuits/llm/window/size", "\"60s\"", "a whole number from 1 to 100000");
  check_refused("/circuits/llm/window/size", "100001");
  check_refused("/circuits/slow/window/size", "60", "from 1s to 1d");
  check_refused("/circuits/slow/window/size", "\"999ms\"", "from 1s to 1d");
  loaded(with(full, "/circuits/slow/window/minimum_calls", "1000"));
}

TEST_CASE("a maximum below its base is refused when it was given") {
  check_refused("/circuits/default/max_cooldown", "\"29s\"", "at least the cooldown, 30s");
  check_refused("/routes/Chat/retry/max_delay", "\"100ms\"", "at least the base delay, 500ms");
}

TEST_CASE("long values are shortened between characters") {
  std::string name;
  for (int i = 0; i < 40; ++i)
    name += "\xE2\x82\xAC";
  const auto error = refused(with(full, "/routes/Chat/provider", "\"" + name + "\""));
  REQUIRE(error.problems.size() == 1);
  const auto& value = error.problems[0].value;
  CHECK(value.size() <= 84);
  CHECK(value.substr(value.size() - 6) == "\xE2\x82\xAC...");
}
