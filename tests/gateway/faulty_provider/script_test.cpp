#include "script.hpp"

#include "support/catch.hpp"

#include <boost/json.hpp>

using namespace faulty;
using namespace std::chrono_literals;

namespace {

constexpr auto whole = R"({
  // comments and trailing commas are fine
  "latency": {"distribution": "lognormal", "mean": "200ms", "min": "10ms", "max": "5s", "sigma": 0.7},
  "errors": [{"status": 500, "rate": 0.1}, {"status": 429, "rate": 0.05, "retry_after": "2s", "code": "c", "message": "m"}],
  "faults": {"reset": 0.01, "silence": 0.02, "empty_body": 0.03, "malformed_body": 0.04, "no_content": 0.05,
             "error_in_200": 0.06, "close_without_answer": 0.07},
  "outages": [{"after": "10s", "for": "5s", "every": "60s", "kind": "reset"}, {"status": 502, "retry_after": "1s"}],
  "models": ["a", "b"],
  "stream": {
    "chunks": 7, "text": "la ", "first": {"distribution": "exponential", "mean": "1s"}, "interval": "20ms",
    "usage": "always", "comments": true, "keep_alive": "5s",
    "faults": {
      "cut": {"rate": 0.1, "after": 3, "by": "mid_event"}, "stall": {"after": 4, "for": "1m"},
      "drip": {"bytes": 5, "delay": "1ms"}, "error_event": {"after": 2, "code": "c", "message": "m"},
      "malformed_frame": {"rate": 0.2, "after": "head"}, "missing_done": 0.3, "missing_finish": 1,
    },
  },
})";

script_errors errors_of(std::string_view text) {
  const auto read = read_script(text);
  INFO(text);
  REQUIRE(read.has_error());
  return read.error();
}

} // namespace

TEST_CASE("every key of a script is read") {
  const auto read = read_script(whole);
  REQUIRE(read.has_value());
  CHECK(read->latency.shape == distribution::lognormal);
  CHECK(read->latency.mean == 200ms);
  CHECK(read->latency.min == 10ms);
  CHECK(read->latency.max == 5s);
  CHECK(read->latency.sigma == 0.7);
  REQUIRE(read->errors.size() == 2);
  CHECK(read->errors[0].status == 500);
  CHECK(read->errors[0].rate == 0.1);
  CHECK_FALSE(read->errors[0].retry_after);
  CHECK(read->errors[1].retry_after == duration(2s));
  CHECK(read->errors[1].code == "c");
  CHECK(read->errors[1].message == "m");
  CHECK(read->faults == fault_rates{0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07});
  REQUIRE(read->outages.size() == 2);
  CHECK(read->outages[0].after == 10s);
  CHECK(read->outages[0].length == duration(5s));
  CHECK(read->outages[0].every == duration(60s));
  CHECK(read->outages[0].what.kind == outage_kind::reset);
  CHECK_FALSE(read->outages[1].length);
  CHECK(read->outages[1].what.status == 502);
  CHECK(read->models == std::vector<std::string>{"a", "b"});
}

TEST_CASE("every key about streams is read") {
  const auto read = read_script(whole);
  REQUIRE(read.has_value());
  const auto& s = read->stream;
  CHECK(s.chunks == 7u);
  CHECK(s.text == "la ");
  CHECK(s.first.shape == distribution::exponential);
  CHECK(s.first.mean == 1s);
  CHECK(s.interval.shape == distribution::fixed);
  CHECK(s.interval.mean == 20ms);
  CHECK(s.usage == usage_policy::always);
  CHECK(s.comments);
  CHECK(s.keep_alive == duration(5s));
  CHECK(s.faults.cut.rate == 0.1);
  CHECK(s.faults.cut.after == 3);
  CHECK(s.faults.cut.by == cut_kind::mid_event);
  CHECK(s.faults.stall.rate == 1);
  CHECK(s.faults.stall.after == 4);
  CHECK(s.faults.stall.length == duration(1min));
  CHECK(s.faults.drip.bytes == 5);
  CHECK(s.faults.drip.delay == 1ms);
  CHECK(s.faults.error_event.after == 2);
  CHECK(s.faults.error_event.code == "c");
  CHECK(s.faults.error_event.message == "m");
  CHECK(s.faults.malformed_frame.rate == 0.2);
  CHECK(s.faults.malformed_frame.after == after_head);
  CHECK(s.faults.missing_done == 0.3);
  CHECK(s.faults.missing_finish == 1);
}

TEST_CASE("a stream without settings is a good one, and an error event is the first event unless said otherwise") {
  const auto read = read_script(R"({"stream":{"faults":{"error_event":{}}}})");
  REQUIRE(read.has_value());
  CHECK_FALSE(read->stream.chunks);
  CHECK(read->stream.usage == usage_policy::requested);
  CHECK(read->stream.faults.error_event.rate == 1);
  CHECK(read->stream.faults.error_event.after == after_head);
  CHECK(read->stream.faults.cut.rate == 0);
  CHECK(read->stream.faults.missing_done == 0);
}

TEST_CASE("a script that is written reads as the same script") {
  for (const auto* text : {"{}", whole, R"({"latency":{"distribution":"uniform","min":"1ms","max":"2ms"}})"}) {
    const auto written = boost::json::serialize(to_json(*read_script(text)));
    const auto again = read_script(written);
    INFO(written);
    REQUIRE(again.has_value());
    CHECK(boost::json::serialize(to_json(*again)) == written);
  }
}

TEST_CASE("what is wrong with a script is told with place, value and what is accepted") {
  const std::vector<std::array<std::string, 4>> table{
      {R"({"latency":{"mean":"fast"}})", "/latency/mean", "\"fast\"", "a duration"},
      {R"({"latency":{"mean":5}})", "/latency/mean", "5", "a duration"},
      {R"({"latency":{"distribution":"gauss","mean":"1s"}})", "/latency/distribution", "\"gauss\"", "\"lognormal\""},
      {R"({"latency":{"mean":"1s","sigma":-1}})", "/latency/sigma", "-1", "0 to 10"},
      {R"({"latency":{}})", "/latency", "{}", "\"mean\" is needed"},
      {R"({"latency":{"distribution":"uniform"}})", "/latency", "", "needs \"max\""},
      {R"({"latency":{"mean":"1s","min":"2s","max":"1s"}})", "/latency", "", "must not be more"},
      {R"({"errors":[{"status":42,"rate":0}]})", "/errors/0/status", "42", "200 to 599"},
      {R"({"errors":[{"status":500.5,"rate":0}]})", "/errors/0/status", "", "200 to 599"},
      {R"({"errors":[{"status":500,"rate":2}]})", "/errors/0/rate", "2", "0 to 1"},
      {R"({"errors":[{"status":500,"rate":"often"}]})", "/errors/0/rate", "\"often\"", "0 to 1"},
      {R"({"errors":[{"rate":1}]})", "/errors/0", "", "are needed"},
      {R"({"errors":{}})", "/errors", "{}", "a list"},
      {R"({"faults":{"explode":1}})", "/faults/explode", "1", "\"malformed_body\""},
      {R"({"faults":{"reset":-0.1}})", "/faults/reset", "", "0 to 1"},
      {R"({"outages":[{"every":"5s","for":"5s"}]})", "/outages/0", "", "shorter"},
      {R"({"outages":[{"every":"0s","for":"0s"}]})", "/outages/0", "", "shorter"},
      {R"({"outages":[{"kind":"reset","status":500}]})", "/outages/0", "", "kind \"status\" only"},
      {R"({"models":["",1]})", "/models/0", "\"\"", "non-empty"},
      {R"({"latencies":1})", "/latencies", "1", "\"latency\""},
      {R"({"stream":{"intervals":"1s"}})", "/stream/intervals", "\"1s\"", "\"interval\""},
      {R"({"stream":{"interval":"soon"}})", "/stream/interval", "\"soon\"", "a duration"},
      {R"({"stream":{"first":{"mean":"1s","min":"2s","max":"1s"}}})", "/stream/first", "", "must not be more"},
      {R"({"stream":{"first":5}})", "/stream/first", "5", "an object"},
      {R"({"stream":{"chunks":-1}})", "/stream/chunks", "-1", "0 to 1000000"},
      {R"({"stream":{"chunks":2.5}})", "/stream/chunks", "2.5", "a whole number"},
      {R"({"stream":{"text":""}})", "/stream/text", "\"\"", "non-empty"},
      {R"({"stream":{"usage":"sometimes"}})", "/stream/usage", "\"sometimes\"", "\"requested\""},
      {R"({"stream":{"comments":1}})", "/stream/comments", "1", "true or false"},
      {R"({"stream":{"keep_alive":"0s"}})", "/stream", "", "at least 1ms"},
      {R"({"stream":{"faults":{"cuts":{}}}})", "/stream/faults/cuts", "{}", "\"cut\""},
      {R"({"stream":{"faults":{"cut":{"at":3}}}})", "/stream/faults/cut/at", "3", "\"after\""},
      {R"({"stream":{"faults":{"cut":{"after":"tail"}}}})", "/stream/faults/cut/after", "\"tail\"", "\"head\""},
      {R"({"stream":{"faults":{"cut":{"by":"axe"}}}})", "/stream/faults/cut/by", "\"axe\"", "\"mid_event\""},
      {R"({"stream":{"faults":{"cut":{"rate":2}}}})", "/stream/faults/cut/rate", "2", "0 to 1"},
      {R"({"stream":{"faults":{"cut":3}}})", "/stream/faults/cut", "3", "an object"},
      {R"({"stream":{"faults":{"stall":{"for":1}}}})", "/stream/faults/stall/for", "1", "a duration"},
      {R"({"stream":{"faults":{"drip":{"bytes":3}}}})", "/stream/faults/drip", "", "are needed"},
      {R"({"stream":{"faults":{"drip":{"bytes":0,"delay":"1ms"}}}})", "/stream/faults/drip/bytes", "0", "from 1"},
      {R"({"stream":{"faults":{"error_event":{"code":1}}}})", "/stream/faults/error_event/code", "1", "non-empty"},
      {R"({"stream":{"faults":{"malformed_frame":{"after":-2}}}})", "/stream/faults/malformed_frame/after", "-2", ""},
      {R"({"stream":{"faults":{"missing_done":true}}})", "/stream/faults/missing_done", "true", "0 to 1"},
      {R"([])", "", "[]", "an object"},
      {R"({"faults":{"reset":0.6,"silence":0.5}})", "", "", "not be more than 1"},
      {"{\n  \"latency\" 1}", "", "", "line 2, column 13"},
      {"{} {}", "", "", "extra data"},
      {"", "", "", "not JSON"},
  };
  for (const auto& [text, pointer, value, message] : table) {
    const auto e = errors_of(text).front();
    CHECK(e.pointer == pointer);
    CHECK(e.value.find(value) == 0);
    INFO(e.message);
    CHECK(e.message.find(message) != std::string::npos);
    CHECK(to_string(e).find(message) != std::string::npos);
  }
}

TEST_CASE("the text of a stream is bounded, by chunk and in all") {
  const auto script = [](std::size_t chunks, std::size_t length) {
    return R"({"stream":{"chunks":)" + std::to_string(chunks) + R"(,"text":")" + std::string(length, 'x') + "\"}}";
  };
  CHECK(read_script(script(4096, longest_chunk)).has_value());
  CHECK(errors_of(script(4097, longest_chunk)).front().pointer == "/stream");
  CHECK(errors_of(script(1, longest_chunk + 1)).front().pointer == "/stream/text");
}

TEST_CASE("all errors of a script are told at once") {
  CHECK(errors_of(R"({"latency":{"mean":"fast","sigma":-1},"models":[1,2],"x":1})").size() == 5);
}

TEST_CASE("rates may add up to 1 in spite of rounding") {
  CHECK(read_script(R"({"errors":[{"status":500,"rate":0.7},{"status":501,"rate":0.1},{"status":502,"rate":0.1}],
                        "faults":{"reset":0.1}})")
            .has_value());
}

TEST_CASE("an outage is status 503 unless said otherwise") {
  CHECK(read_outage("")->status == 503);
  CHECK(read_outage("{}")->kind == outage_kind::status);
  CHECK(read_outage(R"({"kind":"silence"})")->kind == outage_kind::silence);
  CHECK(read_outage(R"({"status":500,"retry_after":"3s"})")->retry_after == duration(3s));
  CHECK(read_outage(R"({"kind":"quiet"})").has_error());
  CHECK(read_outage(R"({"after":"1s"})").has_error());
}
