#include "fixture.hpp"

#include "switchyard/actors/messages.hpp"

#include <boost/asio/use_future.hpp>

#include <thread>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

submit_result submit(runtime& r, const std::string& route = "chat") {
  auto q = chat_request();
  q.route = route;
  return value_of(r.async_submit(std::move(q), asio::use_future));
}

circuit_description circuit_of(runtime& r, const std::string& id = "p") {
  std::promise<std::vector<circuit_description>> told;
  r.engine().list_circuits([&](admin_result<std::vector<circuit_description>> all) { told.set_value(*all); });
  for (const auto& d : value_of(told.get_future()))
    if (d.id.str() == id)
      return d;
  throw std::runtime_error("there is no circuit " + id);
}

void set_mode(runtime& r, const std::string& id, circuit_mode mode) {
  std::promise<bool> done;
  change_circuit change;
  change.id = id;
  change.mode = mode;
  r.engine().change_circuit(change, [&](admin_result<void> changed) { done.set_value(bool(changed)); });
  REQUIRE(value_of(done.get_future()));
}

void check_taken(runtime& r, config c) {
  REQUIRE(r.reload(std::move(c)));
}

} // namespace

TEST_CASE("a reload brings routes and takes them away, and the observers hear of it") {
  struct reload_watch : event_sink {
    std::promise<bool> told;
    void on_event(const event& e) noexcept override {
      if (const auto* reload = std::get_if<reload_event>(&e))
        told.set_value(reload->accepted);
    }
  };
  auto runtime = start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(200))));
  const auto watch = std::make_shared<reload_watch>();
  const auto token = runtime.observe(watch);
  auto c = one_route();
  c.routes["more"] = c.routes["chat"];
  c.routes.erase("chat");
  check_taken(runtime, c);
  CHECK(value_of(watch->told.get_future()));
  CHECK(runtime.active_routes() == std::vector<std::string>{"more"});
  CHECK(submit(runtime, "more"));
  const auto gone = submit(runtime);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == errc::unknown_route);
}

TEST_CASE("a circuit whose settings stay keeps its state over a reload; with others it begins anew, closed") {
  const auto provider = std::make_shared<quick_provider>(answer_of(500));
  auto runtime = start(one_route(), with_provider(provider));
  CHECK_FALSE(submit(runtime));
  REQUIRE(circuit_of(runtime).figures.state == circuit_state::open);
  auto c = one_route();
  c.providers["p"].max_concurrency = 7; // which is none of the circuit's
  c.routes["more"] = c.routes["chat"];
  check_taken(runtime, c);
  CHECK(circuit_of(runtime).figures.state == circuit_state::open);
  CHECK(submit(runtime, "more").error().code == errc::circuit_open);
  c.circuits["default"].consecutive_failures = 2;
  check_taken(runtime, c);
  CHECK(circuit_of(runtime).figures.state == circuit_state::closed);
  CHECK_FALSE(submit(runtime));
  CHECK(circuit_of(runtime).figures.state == circuit_state::closed); // the threshold is another
  CHECK_FALSE(submit(runtime));
  CHECK(circuit_of(runtime).figures.state == circuit_state::open);
}

TEST_CASE("an operator's mode outlives a reload that changes the circuit") {
  auto runtime = start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(200))));
  set_mode(runtime, "p", circuit_mode::forced_open);
  auto c = one_route();
  c.circuits["default"].cooldown = 1s;
  check_taken(runtime, c);
  CHECK(circuit_of(runtime).figures.mode == circuit_mode::forced_open);
}

TEST_CASE("a request under way ends under the configuration it began with") {
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(one_route(), with_provider(provider));
  auto running = runtime.async_submit(chat_request(), asio::use_future);
  provider->at(0);
  auto c = one_route();
  c.providers["q"] = c.providers["p"]; // over HTTP, to nowhere
  c.routes["other"] = c.routes["chat"];
  c.routes["other"].provider = "q";
  c.routes.erase("chat");
  c.providers.erase("p");
  check_taken(runtime, c);
  CHECK_THROWS(circuit_of(runtime, "p")); // nobody is to see it any more
  provider->answer(0, answer_of(200));
  CHECK(value_of(std::move(running)));
}

TEST_CASE("slots of calls under way count against the new limit of their provider [U4]") {
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(one_route(), with_provider(provider));
  auto first = runtime.async_submit(chat_request(), asio::use_future);
  provider->at(0);
  auto c = one_route();
  c.providers["p"].max_concurrency = 1;
  check_taken(runtime, c);
  const auto second = submit(runtime);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == errc::overloaded);
  provider->answer(0, answer_of(200));
  CHECK(value_of(std::move(first)));
  auto third = runtime.async_submit(chat_request(), asio::use_future);
  provider->answer(1, answer_of(200));
  CHECK(value_of(std::move(third)));
}

TEST_CASE("a configuration that cannot be used changes nothing and says why, all of it") {
  auto runtime = start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(200))));
  auto c = one_route();
  c.routes["chat"].provider = "nobody";
  c.routes["chat"].deadline = 0s;
  const auto invalid = runtime.reload(c);
  REQUIRE_FALSE(invalid);
  CHECK(invalid.error().message.find("/routes/chat/provider") != std::string::npos);
  CHECK(invalid.error().message.find("/routes/chat/deadline") != std::string::npos);
  c = one_route();
  c.telemetry.path = "elsewhere";
  c.idempotency.durability = idempotency_settings::durability_mode::power;
  const auto fixed = runtime.reload(c);
  REQUIRE_FALSE(fixed);
  CHECK(fixed.error().message.find("/telemetry/path: cannot change in a running program") != std::string::npos);
  CHECK(fixed.error().message.find("/idempotency/durability") != std::string::npos);
  c = one_route();
  c.providers["q"] = c.providers["p"];
  c.providers["q"].base_url = "https://127.0.0.1:9";
  c.providers["q"].tls_ca = "/no/such/file";
  c.providers["r"] = c.providers["q"];
  c.providers["r"].tls_ca = "/no/other/file";
  const auto no_ca = runtime.reload(c);
  REQUIRE_FALSE(no_ca);
  CHECK(no_ca.error().message.find("/no/such/file") != std::string::npos);
  CHECK(no_ca.error().message.find("/no/other/file") != std::string::npos);
  CHECK(submit(runtime));
}

TEST_CASE("bodies that are no JSON objects are refused with their place, also when a program sets them") {
  auto c = one_route();
  auto& canary = c.circuits["default"].canary.emplace();
  canary.body = "[1]";
  c.providers["fixed"].type = provider_settings::kind::static_answer;
  c.providers["fixed"].static_body = "{";
  const auto started = runtime::start(c, with_provider(nullptr));
  REQUIRE_FALSE(started);
  INFO(started.error().message);
  CHECK(started.error().message.find("/circuits/default/canary/body: [1]: must be the text of a JSON object") !=
        std::string::npos);
  CHECK(started.error().message.find("/providers/fixed/body: {:") != std::string::npos);
}

TEST_CASE("budgets and the cache come and go with a reload, and what was charged stays [U1, U3]") {
  const auto provider = std::make_shared<quick_provider>(answer_of(200));
  auto runtime = start(one_route(), with_provider(provider));
  CHECK(submit(runtime));
  auto c = one_route();
  c.budgets.emplace_back().requests = 1;
  check_taken(runtime, c);
  CHECK(submit(runtime));
  CHECK(submit(runtime).error().code == errc::budget_exceeded);
  c.budgets[0].requests = 2; // the same budget with another limit
  check_taken(runtime, c);
  CHECK(submit(runtime));
  CHECK(submit(runtime).error().code == errc::budget_exceeded);
  c.budgets.clear();
  c.cache.enabled = true;
  check_taken(runtime, c);
  CHECK_FALSE(submit(runtime).value().cached);
  CHECK(submit(runtime).value().cached);
  c.cache.enabled = false;
  check_taken(runtime, c);
  CHECK_FALSE(submit(runtime).value().cached);
}

TEST_CASE("a guard's circuit follows its profile over a reload, and goes with no route") {
  circuit_settings profile;
  profile.consecutive_failures = 3;
  config c;
  c.circuits["default"] = profile;
  auto runtime = start(c, with_provider(nullptr));
  auto guard = runtime.circuit("db");
  guard.try_acquire()->failure();
  c.circuits["default"].consecutive_failures = 1;
  check_taken(runtime, c);
  CHECK(guard.state() == circuit_state::closed);
  guard.try_acquire()->failure();
  CHECK(circuit_of(runtime, "db").figures.state == circuit_state::open);
  CHECK(circuit_of(runtime, "db").figures.trips == 1);
}

TEST_CASE("a guard's circuit whose route and profile went kept asking the route's provider by canary [C13]") {
  auto c = one_route();
  c.circuits["own"] = c.circuits["default"];
  c.circuits["own"].cooldown = 1ms;
  c.circuits["own"].canary.emplace().body = "{}";
  c.providers["p"].circuit = "own";
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(c, with_provider(provider));
  const auto watch = std::make_shared<state_watch>();
  const auto token = runtime.observe(watch);
  auto guard = runtime.circuit("p", "own");
  auto permit = guard.try_acquire();
  set_mode(runtime, "p", circuit_mode::forced_open); // so that no canary goes before the reload
  permit->failure();
  watch->wait_for(circuit_state::open);
  check_taken(runtime, config{});
  set_mode(runtime, "p", circuit_mode::automatic);
  watch->wait_for(circuit_state::half_open);
  CHECK(provider->attempts() == 0);
}

TEST_CASE("a program that kept the settings of before kept their circuits, and the runtime never ended") {
  std::shared_ptr<const config> kept;
  {
    auto runtime = start(one_route(), with_provider(nullptr));
    kept = runtime.engine().settings();
    check_taken(runtime, config{});
  }
  CHECK(kept->routes.contains("chat")); // and its end is safe: the providers' I/O threads have gone
}

TEST_CASE("under load no request fails for reloads that add, change and remove providers, routes and circuits") {
  auto c = one_route();
  auto o = with_provider(std::make_shared<quick_provider>(answer_of(200)));
  o.providers["q"] = std::make_shared<quick_provider>(answer_of(200));
  o.io_threads = 2;
  auto runtime = start(c, std::move(o));
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, failed{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&] {
      while (!stop)
        ++(submit(runtime) ? answered : failed);
    });
  for (int i = 0; i < 100; ++i) {
    auto next = one_route();
    next.circuits["default"].consecutive_failures = 1 + i % 3;
    next.providers["q"] = next.providers["p"];
    next.routes["chat"].provider = i % 2 ? "q" : "p";
    if (i % 5 == 0)
      next.routes["more"] = next.routes["chat"];
    check_taken(runtime, next);
    const auto before = answered.load();
    for (const auto end = std::chrono::steady_clock::now() + patience;
         answered < before + 4 && failed == 0 && std::chrono::steady_clock::now() < end;)
      std::this_thread::yield();
  }
  stop = true;
  for (auto& client : clients)
    client.join();
  CHECK(failed == 0);
  CHECK(answered >= 400);
}
