// Streams over loopback: what the connection shows, and what is counted.

#include "provider_fixture.hpp"
#include "stream_fixture.hpp"

using namespace faulty;
using namespace faulty::test;

namespace {

struct chunked_body {
  std::string text;
  bool whole = false; ///< its end was told
};

chunked_body dechunked(std::string_view raw) {
  chunked_body out;
  for (;;) {
    const auto line = raw.find("\r\n");
    if (line == std::string_view::npos)
      return out;
    const auto size = std::stoul(std::string(raw.substr(0, line)), nullptr, 16);
    if (size == 0) {
      out.whole = raw == "0\r\n\r\n";
      return out;
    }
    raw.remove_prefix(line + 2);
    out.text += raw.substr(0, size);
    raw.remove_prefix(std::min(raw.size(), size + 2));
  }
}

std::string script_with_fault(const std::string& faults) {
  return R"({"stream":{"chunks":5,"interval":"1ms","faults":{)" + faults + "}}}";
}

// Streams of which none may be lost.
void check_all_ended(const running_provider& p, int begun) {
  const auto streams = p.stats().at("streams");
  CHECK(streams.at("begun") == begun);
  CHECK(streams.at("open") == 0);
  CHECK(streams.at("finished").to_number<int>() + streams.at("cut").to_number<int>() +
            streams.at("aborted").to_number<int>() ==
        begun);
}

} // namespace

TEST_CASE("a stream of each operation comes whole, with its end told") {
  running_provider p(R"({"stream":{"first":"2ms","interval":"1ms"}})");
  for (const auto* path : {"/v1/chat/completions", "/v1/completions", "/v1/responses"}) {
    const auto r = p.call("POST", path, R"({"model":"m","stream":true})");
    CHECK(r.status == 200);
    CHECK(r.head.find("\r\nContent-Type: text/event-stream\r\n") != std::string::npos);
    const auto body = dechunked(r.body);
    CHECK(body.whole);
    CHECK(content_in(body.text).text == "Hello from alpha");
  }
  CHECK(p.stats().at_pointer("/streams/finished") == 3);
  CHECK(p.stats().at("by_status") == json::value{{"200", 3}});
  check_all_ended(p, 3);
}

TEST_CASE("embeddings are never streamed") {
  running_provider p;
  const auto r = p.call("POST", "/v1/embeddings", R"({"model":"m","stream":true,"input":"x"})");
  CHECK(r.head.find("application/json") != std::string::npos);
  CHECK(p.stats().at_pointer("/streams/begun") == 0);
}

TEST_CASE("a stream goes by the script that was in force when its request arrived") {
  running_provider p(R"({"stream":{"chunks":3,"text":"old"}})");
  p.call("POST", "/control/hold");
  auto c = p.connect();
  c.send("POST", chat_path, hello_streamed);
  p.await("held", 1);
  p.script(R"({"stream":{"chunks":2,"text":"new"}})");
  p.call("POST", "/control/release");
  CHECK(content_in(dechunked(c.receive().body).text).text == "oldoldold");
}

TEST_CASE("a script that comes during a stream is for the next one") {
  running_provider p(R"({"stream":{"chunks":3,"text":"old","faults":{"stall":{"after":1,"for":"500ms"}}}})");
  auto c = p.connect();
  c.send("POST", chat_path, hello_streamed);
  REQUIRE(c.receive_until("old"));
  p.script(R"({"stream":{"chunks":2,"text":"new"}})");
  CHECK(content_in(dechunked(c.receive().body).text).text == "oldoldold");
  CHECK(content_in(dechunked(p.chat(hello_streamed).body).text).text == "newnew");
}

TEST_CASE("a cut by reset shows what was said before, then a reset") {
  running_provider p;
  for (const auto* after : {"\"head\"", "0", "2", "5"}) {
    p.script(script_with_fault(R"("cut":{"after":)" + std::string(after) + "}"));
    const auto r = p.chat(hello_streamed);
    INFO(after);
    CHECK(r.status == 200);
    CHECK(r.end == asio::error::connection_reset);
    const auto body = dechunked(r.body);
    CHECK_FALSE(body.whole);
    CHECK(content_in(body.text).chunks == (after[0] == '"' ? 0u : static_cast<std::size_t>(std::stoi(after))));
  }
  CHECK(p.stats().at_pointer("/streams/cut") == 4);
  check_all_ended(p, 4);
}

TEST_CASE("a cut in good order ends the connection amid the body, or the body amid the stream") {
  running_provider p;
  for (const auto* by : {"close", "end"}) {
    INFO(by);
    p.script(script_with_fault(R"("cut":{"after":2,"by":")" + std::string(by) + "\"}"));
    const auto r = p.chat(hello_streamed);
    CHECK(r.end == asio::error::eof);
    const auto body = dechunked(r.body);
    CHECK(body.whole == (by == std::string_view("end")));
    CHECK(content_in(body.text).chunks == 2);
    CHECK(body.text.find("[DONE]") == std::string::npos);
  }
  CHECK(p.stats().at_pointer("/streams/cut") == 2);
}

TEST_CASE("a cut amid an event shows the beginning of it") {
  running_provider p(script_with_fault(R"("cut":{"after":2,"by":"mid_event"})"));
  const auto r = p.chat(hello_streamed);
  CHECK(r.end == asio::error::connection_reset);
  const auto body = dechunked(r.body);
  CHECK_FALSE(body.text.ends_with("\n\n"));
  CHECK(content_in(body.text.substr(0, body.text.rfind("\n\n") + 2)).chunks == 2);
}

TEST_CASE("an error event, a malformed frame and missing events come over the wire") {
  running_provider p;
  const auto body_with = [&](const std::string& faults) {
    p.script(script_with_fault(faults));
    const auto body = dechunked(p.chat(hello_streamed).body);
    CHECK(body.whole);
    return body.text;
  };
  CHECK(body_with(R"("error_event":{})").find("data: {\"error\":") == 0);
  CHECK(content_in(body_with(R"("error_event":{"after":3})")).chunks == 3);
  CHECK(content_in(body_with(R"("malformed_frame":{"after":3})")).chunks == 5);
  CHECK(body_with(R"("missing_done":1)").find("[DONE]") == std::string::npos);
  CHECK(body_with(R"("missing_finish":1)").find("\"stop\"") == std::string::npos);
  CHECK(body_with(R"("drip":{"bytes":3,"delay":"0s"})").ends_with("data: [DONE]\n\n"));
  CHECK(content_in(body_with(R"("drip":{"bytes":100,"delay":"1ms"})")).chunks == 5);
  check_all_ended(p, 7);
}

TEST_CASE("a client that leaves a stream is noticed and counted, in whichever silence") {
  running_provider p;
  const char* seen = "\r\n\r\n";
  SECTION("before any event") {
    p.script(script_with_fault(R"("stall":{"after":"head"})"));
  }
  SECTION("before the first chunk") {
    p.script(R"({"stream":{"first":"1h"}})");
    seen = "assistant";
  }
  SECTION("between chunks") {
    p.script(R"({"stream":{"interval":"1h"}})");
    seen = "You";
  }
  SECTION("in a stall") {
    p.script(script_with_fault(R"("stall":{"after":1})"));
    seen = "You";
  }
  SECTION("amid an event") {
    p.script(script_with_fault(R"("drip":{"bytes":8,"delay":"1h"})"));
    seen = "data: ";
  }
  SECTION("while events come") {
    p.script(R"({"stream":{"chunks":1000000,"interval":"1ms"}})");
    seen = "You";
  }
  {
    auto c = p.connect();
    c.send("POST", chat_path, hello_streamed);
    REQUIRE(c.receive_until(seen));
    CHECK(p.stats().at_pointer("/streams/open") == 1);
  }
  p.await("streams/aborted", 1);
  CHECK(p.stats().at("aborted") == 1);
  CHECK(p.stats().at("in_flight") == 0);
  CHECK(p.stats().at("completed") == 0);
  check_all_ended(p, 1);
}

TEST_CASE("a stream does not run ahead of a client that does not read, and loses nothing") {
  running_provider p(R"({"stream":{"chunks":3000,"text":")" + std::string(longest_chunk, 'x') + "\"}}");
  constexpr std::uint64_t all = 3000 * longest_chunk;
  auto c = p.connect();
  c.send("POST", "/v1/completions", hello_streamed);
  while (p.stats().at_pointer("/streams/waits").to_number<std::uint64_t>() == 0) {
  }
  // What the system's buffers take is some megabytes.
  CHECK(p.stats().at_pointer("/streams/bytes").to_number<std::uint64_t>() < all / 2);
  const auto body = dechunked(c.receive().body);
  CHECK(body.whole);
  const auto said = content_in(body.text);
  CHECK(said.chunks == 3000);
  CHECK(said.text.size() == all);
  CHECK(body.text.ends_with("data: [DONE]\n\n"));
  CHECK(p.stats().at_pointer("/streams/bytes") == body.text.size());
}

TEST_CASE("a client that leaves without having read ends its stream") {
  running_provider p(R"({"stream":{"chunks":3000,"text":")" + std::string(longest_chunk, 'x') + "\"}}");
  {
    auto c = p.connect();
    c.send("POST", "/v1/completions", hello_streamed);
    while (p.stats().at_pointer("/streams/waits").to_number<std::uint64_t>() == 0) {
    }
  }
  p.await("streams/aborted", 1);
  check_all_ended(p, 1);
}

TEST_CASE("many streams run side by side, each whole") {
  running_provider p(R"({"stream":{"chunks":20,"interval":{"distribution":"exponential","mean":"5ms"}}})");
  p.call("POST", "/control/hold");
  constexpr int n = 300;
  std::list<client> clients;
  for (int i = 0; i < n; ++i)
    clients.emplace_back(p.address()).send("POST", chat_path, hello_streamed);
  p.await("held", n);
  p.call("POST", "/control/release");
  for (auto& c : clients) {
    const auto body = dechunked(c.receive().body);
    REQUIRE(body.whole);
    REQUIRE(content_in(body.text).chunks == 20);
  }
  CHECK(p.stats().at_pointer("/streams/finished") == n);
  check_all_ended(p, n);
}

TEST_CASE("a provider stops amid streams") {
  running_provider p(R"({"stream":{"chunks":1000000,"interval":"1ms"}})");
  auto c = p.connect();
  c.send("POST", chat_path, hello_streamed);
  REQUIRE(c.receive_until("You"));
}

TEST_CASE("counts of streams start anew on request, those that run stay") {
  running_provider p(R"({"stream":{"interval":"1h"}})");
  auto c = p.connect();
  c.send("POST", chat_path, hello_streamed);
  REQUIRE(c.receive_until("You"));
  p.call("POST", "/control/stats/reset");
  const auto streams = p.stats().at("streams");
  CHECK(streams.at("begun") == 0);
  CHECK(streams.at("open") == 1);
  CHECK(streams.at("max_open") == 1);
}
