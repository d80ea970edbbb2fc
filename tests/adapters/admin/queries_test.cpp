#include "queries.hpp"

#include "support/catch.hpp"
#include "time_text.hpp"

using namespace switchyard;
using namespace switchyard::admin;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

telemetry_query accepted(std::string_view query) {
  const auto parsed = parse_telemetry_query(query);
  REQUIRE(parsed.has_value());
  return *parsed;
}

std::string refusal(std::string_view query) {
  const auto parsed = parse_telemetry_query(query);
  return parsed ? "accepted" : parsed.error();
}

std::optional<wall_time> at(std::int64_t ms) {
  return wall_time{milliseconds{ms}};
}

constexpr std::int64_t noon = 1'769'860'800'000; // 2026-01-31T12:00:00Z

} // namespace

TEST_CASE("a query for telemetry without parameters asks for the newest hundred rows") {
  const auto q = accepted("");
  CHECK_FALSE(q.since);
  CHECK_FALSE(q.until);
  CHECK(q.provider.empty());
  CHECK(q.request_id.empty());
  CHECK(q.limit == 100);
}

TEST_CASE("every parameter of a query for telemetry is read, percent-encoded or not") {
  const auto q = accepted("since=2026-01-31T12%3A00:00Z&until=1769860800001&provider=a%2Fb%20c&"
                          "request_id=x-1&limit=10000");
  CHECK(q.since == at(noon));
  CHECK(q.until == at(noon + 1));
  CHECK(q.provider == "a/b c");
  CHECK(q.request_id == "x-1");
  CHECK(q.limit == 10'000);
}

TEST_CASE("a parameter that is not accepted names itself, its value and what is accepted") {
  for (const auto* limit : {"0", "10001", "-1", "+5", "1.5", "ten", "", "99999999999999999999999", "5%20"}) {
    INFO(limit);
    CHECK(refusal("limit=" + std::string{limit}).find("give 1 to 10000") != std::string::npos);
  }
  CHECK(refusal("limit=ten").find("limit=ten") == 0);
  for (const auto* key : {"since", "until"}) {
    const auto text = refusal(std::string{key} + "=yesterday");
    CHECK(text.find(std::string{key} + "=yesterday") == 0);
    CHECK(text.find("RFC 3339") != std::string::npos);
    CHECK(text.find("Unix milliseconds") != std::string::npos);
    CHECK(refusal(key) != "accepted"); // without a value
  }
  const auto unknown = refusal("model=m");
  CHECK(unknown.find("model") != std::string::npos);
  CHECK(unknown.find("since, until, provider, request_id, limit") != std::string::npos);
  CHECK(refusal("Limit=5") != "accepted");
  CHECK(refusal("limit=5&limit=%") ==
        "the query is malformed: percent-encode (%XX) what is neither a letter nor a digit");
}

TEST_CASE("RFC 3339 is read with any offset and fraction, and Unix milliseconds") {
  CHECK(parse_time("2026-01-31T12:00:00Z") == at(noon));
  CHECK(parse_time("2026-01-31t12:00:00z") == at(noon));
  CHECK(parse_time("2026-01-31T14:30:00+02:30") == at(noon));
  CHECK(parse_time("2026-01-31T11:00:00-01:00") == at(noon));
  CHECK(parse_time("2026-01-31T12:00:00.5Z") == at(noon + 500));
  CHECK(parse_time("2026-01-31T12:00:00.123456789012+00:00") == wall_time{milliseconds{noon} + duration{123'456'789}});
  CHECK(parse_time("2024-02-29T00:00:00Z"));
  CHECK(parse_time("1970-01-01T00:00:00Z") == at(0));
  CHECK(parse_time("0") == at(0));
  CHECK(parse_time("1769860800000") == at(noon));
}

TEST_CASE("what is nearly a time is none") {
  for (const auto* text : {"",
                           " ",
                           "-1",
                           "9000000000001",
                           "1e3",
                           "now",
                           "2026-01-31",
                           "2026-01-31T12:00:00",
                           "2026-01-31 12:00:00Z",
                           " 2026-01-31T12:00:00Z",
                           "2026-01-31T12:00:00Z ",
                           "2026-02-30T00:00:00Z",
                           "2025-02-29T00:00:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-01-00T00:00:00Z",
                           "2026-01-31T24:00:00Z",
                           "2026-01-31T12:60:00Z",
                           "2026-01-31T12:00:61Z",
                           "2026-1-31T12:00:00Z",
                           "2026-01-31T12:00:00.Z",
                           "2026-01-31T12:00:00+24:00",
                           "2026-01-31T12:00:00+2:00",
                           "2026-01-31T12:00:00+-1:30",
                           "2026-01-31T12:00:00+0200",
                           "1969-12-31T23:59:59Z",
                           "2251-01-01T00:00:00Z",
                           "+2026-01-31T12:00:00Z",
                           "2026-01-31T12:00:00ZZ"}) {
    INFO(text);
    CHECK_FALSE(parse_time(text));
  }
}

TEST_CASE("times are written so that they read back") {
  CHECK(to_rfc3339(wall_time{milliseconds{noon + 250}}) == "2026-01-31T12:00:00.250Z");
  CHECK(to_rfc3339(wall_time{}) == "1970-01-01T00:00:00.000Z");
  CHECK(to_rfc3339(wall_time{milliseconds{-1}}) == "1969-12-31T23:59:59.999Z");
  for (std::int64_t ms = 1; ms < 7'000'000'000'000; ms = ms * 7 + 13)
    CHECK(parse_time(to_rfc3339(wall_time{milliseconds{ms}})) == at(ms));
}

TEST_CASE("a change of a circuit is a mode, a reset, or both") {
  CHECK(parse_circuit_change(R"({"mode":"auto"})")->mode == circuit_mode::automatic);
  CHECK(parse_circuit_change(R"({"mode":"forced_open"})")->mode == circuit_mode::forced_open);
  const auto both = parse_circuit_change(R"({"reset":true,"mode":"disabled"})");
  CHECK(both->mode == circuit_mode::disabled);
  CHECK(both->reset);
  CHECK_FALSE(both->id);
  CHECK(parse_circuit_change(R"({"reset":true})")->reset);
}

TEST_CASE("a change that is not accepted names what is wrong with it") {
  const auto why = [](std::string_view body) {
    const auto parsed = parse_circuit_change(body);
    return parsed ? std::string{"accepted"} : parsed.error();
  };
  CHECK(why(R"({"mode":"open"})").find("mode: \"open\" is not accepted") == 0);
  CHECK(why(R"({"reset":1})").find("reset: 1 is not accepted") == 0);
  CHECK(why(R"({"modus":"auto"})").find("unknown key modus") == 0);
  CHECK(why("{").find("the body is not JSON") == 0);
  CHECK(why("[]").find("the body is not a JSON object") == 0);
  CHECK(why("{}").find("nothing to change") == 0);
  CHECK(why(R"({"reset":false})").find("nothing to change") == 0);
  CHECK(why(std::string(100'000, '[')) != "accepted");
}
