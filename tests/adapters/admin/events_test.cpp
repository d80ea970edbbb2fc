#include "fixture.hpp"

#include "event_stream.hpp"

#include <vector>

using namespace switchyard;
using namespace switchyard::admin::test;

namespace {

constexpr std::string_view subscribe = "GET /admin/events HTTP/1.1\r\nHost: localhost\r\n\r\n";

raw_client subscribed(const running_admin& admin, int receive_buffer = 0) {
  auto c = admin.client(receive_buffer);
  REQUIRE(c.send(subscribe));
  REQUIRE(c.receive_until("Content-Type: text/event-stream\r\n"));
  REQUIRE(c.receive_until(": switchyard events\n\n"));
  return c;
}

/// The data of the next event of that name. The stream is chunked with one event in each chunk.
json::object next(raw_client& c, const std::string& name) {
  REQUIRE(c.receive_until("event: " + name + "\ndata: "));
  std::string line;
  for (auto byte = c.take(1); byte != "\n"; byte = c.take(1)) {
    REQUIRE_FALSE(byte.empty());
    line += byte;
  }
  return json::parse(line).as_object();
}

const fallback_event some_event{"request-1", "chat", "backup", failure_class::server_error, {}};

} // namespace

TEST_CASE("a request is seen as its attempts and itself, with the fields of the log [H4]") {
  running_admin admin;
  auto c = subscribed(admin);
  admin.submit("chat", "the-id");
  const auto attempt = next(c, "attempt");
  CHECK(attempt.at("request_id") == "the-id");
  CHECK(attempt.at("provider") == "good");
  CHECK(attempt.at("success") == true);
  CHECK(attempt.at("class").is_null());
  CHECK(attempt.at("retry") == false);
  const auto request = next(c, "request");
  CHECK(request.at("request_id") == "the-id");
  CHECK(request.at("requested_route") == "chat");
  CHECK(request.at("attempts") == 1);
  CHECK(request.at("cost").is_null());
}

TEST_CASE("a trip, a refusal and an operator's change are seen, naming the circuit [C11]") {
  running_admin admin;
  auto c = subscribed(admin);
  admin.submit("bad");
  admin.submit("bad");
  const auto trip = next(c, "circuit_state");
  CHECK(trip.at("circuit") == "broken");
  CHECK(trip.at("from") == "closed");
  CHECK(trip.at("state") == "open");
  CHECK(trip.at("retry_after_ms").as_int64() > 0);
  admin.submit("bad", "refused-1");
  const auto refused = next(c, "circuit_refused");
  CHECK(refused.at("circuit") == "broken");
  CHECK(refused.at("request_id") == "refused-1");
  admin.call("POST", "/admin/circuits/good", R"({"mode":"forced_open"})");
  const auto mode = next(c, "circuit_state");
  CHECK(mode.at("circuit") == "good");
  CHECK(mode.at("mode") == "forced_open");
  CHECK(mode.at("reason") == "operator");
}

TEST_CASE("every subscriber gets every event, and those who have left cost nothing") {
  running_admin admin;
  auto first = subscribed(admin);
  { auto leaves = subscribed(admin); }
  auto second = subscribed(admin);
  for (const auto* id : {"1", "2", "3"})
    admin.submit("chat", id);
  for (auto* c : {&first, &second})
    for (const auto* id : {"1", "2", "3"})
      CHECK(next(*c, "request").at("request_id") == id);
  CHECK(http::test::eventually([&] { return admin.server->connections() == 2; }));
}

TEST_CASE("a subscriber that does not read delays no request [C15]") {
  running_admin admin;
  auto silent = admin.client(1024);
  REQUIRE(silent.send(subscribe));
  for (int i = 0; i < 300; ++i)
    REQUIRE(admin.submit("chat")->ok());
  CHECK(admin.get("/admin/circuits").size() == 1);
}

TEST_CASE("a subscriber that does not read is cut when its backlog is full; one that reads goes on") {
  running_admin admin;
  const auto streams = std::make_shared<admin::event_streams>(admin.engine);
  mailbox<bool> added;
  http::test::running_server server{[&](const std::shared_ptr<http::exchange>& x) { added.put(streams->add(x)); }};
  auto silent = server.client(1024);
  REQUIRE(silent.send(subscribe));
  REQUIRE(added.take());
  // The sockets take some, the backlog a bounded rest: a few MiB.
  const std::string long_name(50'000, 'x');
  const fallback_event large{"request-1", long_name, long_name, failure_class::server_error, {}};
  CHECK(http::test::eventually([&] {
    streams->on_event(large);
    return server.server->connections() == 0;
  }));
  auto reading = server.client();
  REQUIRE(reading.send(subscribe));
  REQUIRE(added.take());
  streams->on_event(some_event);
  CHECK(next(reading, "fallback").at("to") == "backup");
  silent.receive_all();
  CHECK(silent.is_reset()); // so that it cannot take the end for a whole answer
}

TEST_CASE("there is a limit to subscribers, and whoever leaves makes room") {
  running_admin admin;
  std::vector<raw_client> all;
  for (std::size_t i = 0; i < admin::event_streams::most_subscribers; ++i)
    all.push_back(subscribed(admin));
  const auto refused = admin.call("GET", "/admin/events");
  CHECK(refused.status == 503);
  CHECK(error_of(refused).at("code") == "overloaded");
  CHECK(has(message_of(refused), "64"));
  all.pop_back();
  CHECK(http::test::eventually([&] {
    auto c = admin.client();
    return c.send(subscribe) && c.receive_until("HTTP/1.1 ") && c.take(3) == "200";
  }));
}
