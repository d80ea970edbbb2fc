// The provider over loopback.

#include "provider_fixture.hpp"

using namespace faulty;
using namespace faulty::test;

TEST_CASE("a provider without a script answers every operation") {
  running_provider p;
  for (const auto* path : {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"}) {
    const auto r = p.call("POST", path, hello);
    CHECK(r.status == 200);
    CHECK(json::parse(r.body).at("model") == "m");
    CHECK(r.head.find("application/json") != std::string::npos);
  }
}

TEST_CASE("wrong requests are refused as an API would") {
  running_provider p(R"({"models":["m","n"]})");
  CHECK(p.chat("{").status == 400);
  CHECK(p.chat(R"({"model":"other"})").status == 404);
  CHECK(p.chat().status == 200);
  CHECK(p.call("GET", chat_path).status == 405);
  CHECK(p.call("POST", "/v1/models").status == 405);
  CHECK(p.call("GET", "/nowhere").status == 404);
  CHECK(p.call("GET", "/control/nowhere").status == 404);
  CHECK(p.call("POST", "/control/script").status == 405);
  CHECK(json::parse(p.call("GET", "/v1/models").body).at("data").as_array().size() == 2);
}

TEST_CASE("an error status carries its Retry-After in both units") {
  running_provider p(R"({"errors":[{"status":429,"rate":1,"retry_after":"1500ms","code":"slow_down"}]})");
  const auto r = p.chat();
  CHECK(r.status == 429);
  CHECK(r.head.find("\r\nRetry-After: 2\r\n") != std::string::npos);
  CHECK(r.head.find("\r\nretry-after-ms: 1500\r\n") != std::string::npos);
  CHECK(json::parse(r.body).at("error").at("code") == "slow_down");
}

TEST_CASE("a reset and a close without an answer cut the connection") {
  running_provider p;
  for (const auto* fault : {"reset", "close_without_answer"}) {
    p.script(R"({"faults":{")" + std::string(fault) + "\":1}}");
    const auto r = p.chat();
    CHECK(r.status == 0);
    CHECK(r.end == asio::error::connection_reset);
  }
  CHECK(p.stats().at("in_flight") == 0);
  CHECK(p.stats().at("completed") == 2);
}

TEST_CASE("a bad script is refused whole and changes nothing") {
  running_provider p(R"({"models":["m"]})");
  const auto before = p.call("GET", "/control/script").body;
  const auto r = p.call("PUT", "/control/script", R"({"models":["x"],"latency":{"mean":1},"zzz":1})");
  CHECK(r.status == 400);
  CHECK(json::parse(r.body).at("errors").as_array().size() == 2);
  CHECK(p.call("GET", "/control/script").body == before);
}

TEST_CASE("a provider goes down and up by hand") {
  running_provider p;
  CHECK(p.call("POST", "/control/down").status == 200);
  CHECK(p.chat().status == 503);
  CHECK(p.call("POST", "/control/down", R"({"status":500,"retry_after":"3s"})").status == 200);
  CHECK(p.chat().status == 500);
  CHECK(p.call("POST", "/control/down", R"({"kind":"reset"})").status == 200);
  CHECK(p.chat().end == asio::error::connection_reset);
  CHECK(p.call("POST", "/control/down", R"({"kind":"sulk"})").status == 400);
  CHECK(p.call("POST", "/control/up").status == 200);
  CHECK(p.chat().status == 200);
}

TEST_CASE("held answers wait for their release") {
  running_provider p;
  p.call("POST", "/control/hold");
  std::list<client> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.emplace_back(p.address()).send("POST", chat_path, hello);
  p.await("held", 3);
  CHECK(p.stats().at("in_flight") == 3);
  p.call("POST", "/control/release");
  for (auto& c : waiting)
    CHECK(c.receive().status == 200);
  CHECK(p.stats().at("held") == 0);
  CHECK(p.stats().at("max_in_flight") == 3);
  CHECK(p.chat().status == 200);
}

TEST_CASE("a client that leaves counts as aborted and frees its place, however it was waiting") {
  running_provider p;
  SECTION("for a silent provider") {
    p.script(R"({"faults":{"silence":1}})");
  }
  SECTION("for a slow answer") {
    p.script(R"({"latency":{"mean":"1h"}})");
  }
  SECTION("for a release") {
    p.call("POST", "/control/hold");
  }
  SECTION("for the rest of a stream") {
    p.script(R"({"stream":{"interval":"1h"}})");
  }
  {
    auto c = p.connect();
    c.send("POST", chat_path, hello_streamed);
    p.await("in_flight", 1);
  }
  p.await("aborted", 1);
  CHECK(p.stats().at("in_flight") == 0);
  CHECK(p.stats().at("completed") == 0);
}

TEST_CASE("a provider stops with requests waiting in every way") {
  running_provider p(R"({"latency":{"mean":"1h"}})");
  auto slow = p.connect();
  slow.send("POST", chat_path, hello);
  p.await("in_flight", 1);
  p.script(R"({"faults":{"silence":1}})");
  auto silent = p.connect();
  silent.send("POST", chat_path, hello);
  p.await("in_flight", 2);
}

TEST_CASE("statistics count by status, behaviour and masked key, and start anew on request") {
  running_provider p(R"({"models":["m"]})");
  p.chat();
  p.chat(R"({"model":"other"})");
  const auto stats = p.stats();
  CHECK(stats.at("requests") == 2);
  CHECK(stats.at("completed") == 2);
  CHECK(stats.at("by_status") == json::value{{"200", 1}, {"404", 1}});
  CHECK(stats.at("by_behaviour") == json::value{{"answer", 1}, {"refused", 1}});
  CHECK(stats.at("keys") == json::value{{"...cdef", 2}});
  CHECK(json::parse(p.call("POST", "/control/stats/reset").body).at("requests") == 0);
  CHECK(p.stats().at("by_status").as_object().empty());
}
