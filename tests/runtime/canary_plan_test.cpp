#include "fixture.hpp"

#include "switchyard/actors/messages.hpp"

#include <boost/json/parse.hpp>

#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

// Route "chat", whose circuit opens at the first failure, rests for a moment, and asks a canary for the word OK.
config with_canary() {
  auto c = one_route();
  c.circuits["default"].cooldown = 1ms;
  auto& canary = c.circuits["default"].canary.emplace();
  canary.body = R"({"messages":[],"max_tokens":5,"model":"another"})";
  canary.expect_contains = "OK";
  return c;
}

std::string saying(const std::string& text) {
  return R"({"choices":[{"message":{"content":")" + text + R"("}}]})";
}

// The circuit has opened: the next call that comes is the canary.
struct resting_circuit {
  resting_circuit() {
    auto failing = runtime.async_submit(chat_request(), asio::use_future);
    provider->answer(0, answer_of(500));
    CHECK_FALSE(value_of(std::move(failing)));
  }

  std::shared_ptr<held_provider> provider = std::make_shared<held_provider>();
  switchyard::runtime runtime = start(with_canary(), with_provider(provider));
  std::shared_ptr<state_watch> watch = std::make_shared<state_watch>();
  std::shared_ptr<void> token = runtime.observe(watch);
};

} // namespace

TEST_CASE_METHOD(resting_circuit,
                 "a canary asks the route's model, and passes only with the whole word in the answer's text [C13]") {
  const auto sent = boost::json::parse(*provider->at(1)->request.body);
  CHECK(sent.at("model") == "m");
  CHECK(sent.at("max_tokens") == 5);
  CHECK(provider->at(1)->request.path == "/chat/completions");
  std::size_t next = 1;
  for (const auto* text : {"ok", "OKAY", "NOTOK", "OK_", "\u00e9OK", ""})
    provider->answer(next++, answer_of(200, saying(text)));
  auto limited = answer_of(200, saying("OK"));
  limited.failure = failure_class::soft_failure;
  provider->answer(next++, std::move(limited));
  provider->answer(next++, answer_of(200, saying("It is OK.")));
  CHECK(watch->wait_for(circuit_state::half_open) == "canary_passed");
  CHECK(provider->attempts() == next);
}

TEST_CASE_METHOD(resting_circuit, "a canary leaves no trace in telemetry, and a real probe follows it [C13, H2]") {
  provider->answer(1, answer_of(200, saying("OK")));
  watch->wait_for(circuit_state::half_open);
  auto probe = runtime.async_submit(chat_request(), asio::use_future);
  provider->answer(2, answer_of(200));
  CHECK(value_of(std::move(probe)));
  CHECK(watch->wait_for(circuit_state::closed) == "probes_succeeded");
  CHECK(runtime.metrics_text().find("switchyard_attempts_total{class=\"success\"} 1\n") != std::string::npos);
}
