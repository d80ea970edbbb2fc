#include "request_headers.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::gateway;
using namespace std::chrono_literals;

namespace {

header_list fields(std::initializer_list<header_list::field> given) {
  header_list headers;
  for (const auto& f : given)
    REQUIRE(headers.add(f.name, f.value));
  return headers;
}

request_options options(const header_list& headers) {
  const auto read = read_options(headers);
  REQUIRE(read.has_value());
  return *read;
}

std::string refusal(std::string_view name, std::string_view value) {
  const auto read = read_options(fields({{name, value}}));
  return read ? "accepted" : read.error();
}

bool usable(std::string_view id) {
  return usable_request_id(fields({{"X-Request-Id", id}})) == id;
}

} // namespace

TEST_CASE("without headers of its own the gateway does what the configuration says") {
  const auto o = options({});
  CHECK_FALSE(o.idempotency_key);
  CHECK_FALSE(o.idempotency_ttl);
  CHECK_FALSE(o.timeout);
  CHECK(o.fallback);
}

TEST_CASE("every header of the gateway is read, whatever the case of its name") {
  const auto o = options(fields({{"idempotency-key", "k-1"},
                                 {"X-SWITCHYARD-IDEMPOTENCY-TTL", "10m"},
                                 {"x-switchyard-timeout", "1500ms"},
                                 {"X-Switchyard-Fallback", "OFF"}}));
  CHECK(o.idempotency_key == "k-1");
  CHECK(o.idempotency_ttl == duration{10min});
  CHECK(o.timeout == duration{1500ms});
  CHECK_FALSE(o.fallback);
  CHECK(read_options(fields({{"X-Switchyard-Fallback", "on"}}))->fallback);
}

TEST_CASE("a key is 1 to 255 visible ASCII characters [I1]") {
  CHECK(refusal("Idempotency-Key", "!~") == "accepted");
  CHECK(refusal("Idempotency-Key", std::string(255, 'k')) == "accepted");
  for (const auto& key :
       {std::string{}, std::string(256, 'k'), std::string{"a b"}, std::string{"a\tb"}, std::string{"k\xc3\xa4"}}) {
    INFO(key);
    CHECK(refusal("Idempotency-Key", key).find("Idempotency-Key is not accepted: give 1 to 255") == 0);
  }
}

TEST_CASE("a refused key is not repeated in the error: it may be as long as a head") {
  CHECK(refusal("Idempotency-Key", std::string(5000, 'k')).size() < 200);
}

TEST_CASE("a duration without a unit, not positive or not a duration is refused, naming header, value and form") {
  for (const auto* name : {"X-Switchyard-Timeout", "X-Switchyard-Idempotency-TTL"})
    for (const auto* value : {"5", "0s", "-1s", "s", "", "5 s", "1h30m!", "999999999999d", "NaNs", "5S"}) {
      INFO(name << ": " << value);
      const auto text = refusal(name, value);
      CHECK(text.find(std::string{name} + ": " + value) == 0);
      CHECK(text.find("500ms, 30s, 10m") != std::string::npos);
    }
}

TEST_CASE("a long value is cut in its error") {
  CHECK(refusal("X-Switchyard-Timeout", std::string(5000, '5')).size() < 300);
  CHECK(refusal("X-Switchyard-Idempotency-TTL", "3651d").find("at most 3650d") != std::string::npos);
  CHECK(refusal("X-Switchyard-Fallback", std::string(5000, 'o')).size() < 300);
}

TEST_CASE("fallback is on or off, nothing else") {
  for (const auto* value : {"", "no", "of", "0", "false"}) {
    INFO(value);
    CHECK(refusal("X-Switchyard-Fallback", value).find("give on or off") != std::string::npos);
  }
}

TEST_CASE("a header of the gateway given twice is refused: neither value would be the right one") {
  for (const auto* name :
       {"Idempotency-Key", "X-Switchyard-Idempotency-TTL", "X-Switchyard-Timeout", "X-Switchyard-Fallback"}) {
    const auto read = read_options(fields({{name, "1s"}, {name, "1s"}}));
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error() == std::string{name} + " is given more than once: give it once");
  }
}

TEST_CASE("Cache-Control is one list, over however many fields, and nothing in it is an error [U3]") {
  const auto wish = options(fields({{"Cache-Control", "max-age=30"}, {"cache-control", "No-Cache, x=\"a,b\""}})).cache;
  CHECK_FALSE(wish.read);
  CHECK(wish.store);
  CHECK(wish.max_age == 30s);
  CHECK_FALSE(options(fields({{"Cache-Control", "no-store"}})).cache.store);
  CHECK(options(fields({{"Cache-Control", ",=,;\""}})).cache == cache_directives{});
}

TEST_CASE("a request id is taken if it is 1-128 of [A-Za-z0-9._-]") {
  CHECK(usable("aZ09._-"));
  CHECK(usable(std::string(128, 'x')));
  for (const auto& id : {std::string{}, std::string(129, 'x'), std::string{"a b"}, std::string{"a/b"},
                         std::string{"a\xc3\xa4"}, std::string{"a\"b"}, std::string{"a,b"}}) {
    INFO(id);
    CHECK_FALSE(usable_request_id(fields({{"X-Request-Id", id}})));
  }
  CHECK_FALSE(usable_request_id({}));
}

TEST_CASE("headers go on to the provider but for those that end here") {
  const auto sent = forwarded_headers(fields({{"Host", "gateway"},
                                              {"content-length", "2"},
                                              {"Transfer-Encoding", "chunked"},
                                              {"Keep-Alive", "5"},
                                              {"TE", "trailers"},
                                              {"Trailer", "X"},
                                              {"Upgrade", "h2c"},
                                              {"Expect", "100-continue"},
                                              {"Proxy-Authorization", "Basic x"},
                                              {"AUTHORIZATION", "Bearer tenant-key"},
                                              {"Cookie", "a=b"},
                                              {"idempotency-key", "k"},
                                              {"x-switchyard-timeout", "5s"},
                                              {"X-Switchyard-Anything", "1"},
                                              {"Accept-Encoding", "gzip"},
                                              {"X-Request-Id", "theirs"},
                                              {"Content-Type", "application/json"},
                                              {"Accept", "*/*"},
                                              {"OpenAI-Beta", "v2"},
                                              {"X-Switchyar", "not ours"}}),
                                      "ours");
  CHECK(sent.text() == "Content-Type: application/json\r\nAccept: */*\r\nOpenAI-Beta: v2\r\nX-Switchyar: not ours\r\n"
                       "X-Request-Id: ours\r\n");
}

TEST_CASE("what Connection names is hop-by-hop, in every Connection header") {
  const auto sent = forwarded_headers(fields({{"Connection", "close, X-Hop ,\tx-other"},
                                              {"X-Hop", "1"},
                                              {"X-OTHER", "2"},
                                              {"Connection", "X-Third"},
                                              {"X-Third", "3"},
                                              {"X-Kept", "4"}}),
                                      "id");
  CHECK(sent.text() == "X-Kept: 4\r\nX-Request-Id: id\r\n");
}

TEST_CASE("a header given twice goes on twice, in order") {
  const auto sent = forwarded_headers(fields({{"Accept", "a"}, {"X", "1"}, {"Accept", "b"}}), "id");
  CHECK(sent.text() == "Accept: a\r\nX: 1\r\nAccept: b\r\nX-Request-Id: id\r\n");
}
