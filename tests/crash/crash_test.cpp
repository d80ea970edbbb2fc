// kill -9 at random moments under clients that retry with the same keys until they are answered: no key has two
// answers, no call is made twice without a mark, and nothing that was answered is forgotten [I5, I10, I11].

#include "counting_provider.hpp"
#include "retrying_clients.hpp"

#include "gateway/program/gateway_process.hpp"

#include "support/catch.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace switchyard;
using namespace switchyard::crash_test;
using switchyard::gateway::test::gateway_process;
using switchyard::http::test::raw_client;
using switchyard::test::temp_dir;

namespace {

constexpr std::size_t most_rows = 10'000; ///< of an answer of /admin/telemetry

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class crashing_gateway {
public:
  crashing_gateway(const counting_provider& provider, const std::string& idempotency)
      : config_(folder_.write("switchyard.json", R"({
          "providers": { "p": { "base_url": "http://)" +
                                                     provider.address() + R"(/v1" } },
          "routes": { "chat": { "provider": "p", "model": "m" } },
          "idempotency": )" + idempotency + R"(,
          "admin": { "listen": "127.0.0.1:0" } })")) {
    start("127.0.0.1:0");
    port_ = process_->port();
  }

  std::uint16_t port() const noexcept { return port_; }

  void crash_and_start() {
    process_->signal(SIGKILL);
    CHECK(process_->wait_end() == 128 + SIGKILL);
    start("127.0.0.1:" + std::to_string(port_));
  }

  boost::json::value admin(const std::string& target) const {
    raw_client c(process_->admin_port());
    REQUIRE(c.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    const auto got = c.receive();
    REQUIRE(got.status == 200);
    return boost::json::parse(got.body);
  }

private:
  void start(const std::string& listen) {
    process_.emplace(folder_, std::vector<std::string>{"--config", config_, "--listen", listen, "--data-dir",
                                                       (folder_.path() / "data").string()});
    process_->wait_ready();
  }

  temp_dir folder_;
  std::string config_;
  std::optional<gateway_process> process_;
  std::uint16_t port_ = 0;
};

/// Rounds of clients under way and a kill at a random step of the provider; the last answers come after the last start.
class crash_rounds {
public:
  explicit crash_rounds(const std::string& idempotency) : gateway(provider, idempotency) {
    std::cout << rounds << " rounds, SWITCHYARD_CRASH_SEED=" << seed << std::endl;
    retrying_clients all{gateway.port(), seed};
    std::mt19937_64 random{seed};
    for (std::uint64_t round = 0; round < rounds; ++round) {
      REQUIRE(provider.wait_for_steps(std::uniform_int_distribution<std::uint64_t>{1, 1'200}(random)));
      gateway.crash_and_start();
    }
    all.finish();
    for (const auto& problem : all.problems())
      FAIL_CHECK(problem);
    answers = all.answers();
    interrupted = all.interrupted();
    gateway.crash_and_start();
    CHECK(answers.size() > rounds);
  }

  /// What was answered is replayed, as it was [I5]. `last_id` names the request.
  void check_replay(const std::string& key, const std::string& body) const {
    const auto got = submit_and_wait(gateway.port(), key, last_id(key));
    REQUIRE(got);
    CHECK(got->status == 200);
    CHECK(got->body == body);
    CHECK(got->replayed);
  }
  static std::string last_id(const std::string& key) { return key + ".last"; }

  const std::uint64_t rounds = number_from("SWITCHYARD_CRASH_ROUNDS", 10);
  const std::uint64_t seed = number_from("SWITCHYARD_CRASH_SEED", std::random_device{}());
  counting_provider provider{seed};
  crashing_gateway gateway;
  std::map<std::string, std::string> answers;
  std::set<std::string> interrupted;
};

// Every attempt has its request, and every row its time and id.
void check_rows_are_whole(const boost::json::value& telemetry) {
  const auto& rows = telemetry.at("rows").as_array();
  CHECK_FALSE(rows.empty());
  std::set<std::string> requests, attempts;
  for (const auto& row : rows) {
    CHECK_FALSE(row.at("time").as_string().empty());
    const std::string id{row.at("request_id").as_string()};
    (row.at("kind") == "request" ? requests : attempts).insert(id);
  }
  std::size_t alone = 0;
  for (const auto& id : attempts)
    alone += !requests.contains(id);
  // An answer that is full ends amid the rows of those who ran at that time.
  CHECK(alone <= (rows.size() < most_rows ? 0u : retrying_clients::count));
}

bool marked_unknown(const boost::json::value& telemetry) {
  for (const auto& row : telemetry.at("rows").as_array())
    if (row.at("kind") == "request" && row.at("outcome_unknown").as_bool())
      return true;
  return false;
}

} // namespace

TEST_CASE("killed at random moments, the gateway gives each key one answer and forgets none [I5, I10, I11]") {
  const crash_rounds run{R"({ "on_interrupted": "rerun" })"};
  CAPTURE(run.seed);
  CHECK(run.interrupted.empty());
  std::uint64_t calls = 0, twice = 0;
  for (const auto& [key, body] : run.answers) {
    CAPTURE(key, run.provider.completed(key));
    run.check_replay(key, body);
    calls += run.provider.completed(key);
    if (run.provider.completed(key) < 2)
      continue;
    ++twice;
    CHECK(marked_unknown(run.gateway.admin("/admin/telemetry?request_id=" + run.last_id(key))));
  }
  CHECK(twice > 0); // else nothing was cut off
  check_rows_are_whole(run.gateway.admin("/admin/telemetry?limit=" + std::to_string(most_rows)));
  std::cout << run.answers.size() << " keys answered, " << calls << " calls, " << twice
            << " keys called more than once, all marked" << std::endl;
}

TEST_CASE("with `fail` no key is called twice, and none is both answered and refused [I10]") {
  const crash_rounds run{R"({ "on_interrupted": "fail" })"};
  CAPTURE(run.seed);
  for (const auto& [key, calls] : run.provider.all_completed()) {
    CAPTURE(key);
    CHECK(calls == 1);
  }
  for (const auto& [key, body] : run.answers) {
    CAPTURE(key);
    run.check_replay(key, body);
    CHECK_FALSE(run.interrupted.contains(key));
  }
  CHECK_FALSE(run.interrupted.empty());
  for (const auto& key : run.interrupted) {
    CAPTURE(key);
    const auto still = submit_and_wait(run.gateway.port(), key, run.last_id(key));
    REQUIRE(still);
    CHECK(still->status == 409);
  }
  std::cout << run.answers.size() << " keys answered, " << run.interrupted.size() << " interrupted, none called twice"
            << std::endl;
}
