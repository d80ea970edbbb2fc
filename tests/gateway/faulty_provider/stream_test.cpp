// The course of a stream: its pace and its faults, without a clock.

#include "stream_fixture.hpp"

#include <algorithm>
#include <numeric>

using namespace faulty;
using namespace faulty::test;
using namespace std::chrono_literals;
using action = stream::action;

namespace {

constexpr operation streamed[]{operation::chat_completions, operation::completions, operation::responses};

latency_script fixed(duration d) {
  return {.mean = d};
}

bool ends_properly(const course& c) {
  return c.end == action::end &&
         (c.body.ends_with("data: [DONE]\n\n") || c.body.find("response.completed") != std::string::npos);
}

bool has_finish(const course& c) {
  return c.body.find("\"finish_reason\":\"stop\"") != std::string::npos ||
         c.body.find("response.output_text.done") != std::string::npos;
}

} // namespace

TEST_CASE("a stream waits before the first chunk and between chunks, and not at its end") {
  for (const auto what : streamed) {
    const auto c = run_through({.first = fixed(3s), .interval = fixed(50ms)}, what);
    CHECK(c.waits == std::vector<duration>{3s, 50ms, 50ms});
    CHECK(ends_properly(c));
  }
}

TEST_CASE("the opening comes before the first wait, each chunk after its own") {
  stream s(some_call(operation::chat_completions), behaviour::answer,
           std::make_shared<const stream_script>(stream_script{.first = fixed(3s), .interval = fixed(50ms)}), 1);
  const auto opening = s.next();
  REQUIRE(opening.what == action::write);
  CHECK(opening.bytes.find("assistant") != std::string_view::npos);
  CHECK(s.next().length == 3s);
  CHECK(s.next().bytes.find("one ") != std::string_view::npos);
  CHECK(s.next().length == 50ms);
  CHECK(s.next().bytes.find("two ") != std::string_view::npos);
}

TEST_CASE("pauses are drawn from their distribution, the same for the same seed") {
  const stream_script s{.chunks = 1000, .interval = {.shape = distribution::uniform, .min = 10ms, .max = 30ms}};
  const auto waits = [&](std::uint64_t seed) {
    return run_through(some_call(operation::completions), s, behaviour::answer, seed).waits;
  };
  const auto drawn = waits(1);
  REQUIRE(drawn.size() == 999);
  CHECK(std::ranges::all_of(drawn, [](duration d) { return d >= 10ms && d <= 30ms; }));
  const auto sum = std::accumulate(drawn.begin(), drawn.end(), duration{});
  CHECK(std::chrono::duration<double>(sum).count() == Approx(999 * 0.02).epsilon(0.05));
  CHECK(waits(1) == drawn);
  CHECK(waits(2) != drawn);
}

TEST_CASE("a cut comes after so many chunks, by a reset or in good order") {
  for (const auto what : streamed)
    for (const auto& [by, end] : {std::pair{cut_kind::reset, action::reset}, std::pair{cut_kind::close, action::close},
                                  std::pair{cut_kind::end, action::stop}})
      for (stream_place after : {0, 1, 3}) {
        const auto c = run_through({.faults = {.cut = {.rate = 1, .after = after, .by = by}}}, what);
        CHECK(c.end == end);
        CHECK(content_in(c.body).chunks == static_cast<std::size_t>(after));
        CHECK(c.body.empty() == (after == 0 && what == operation::completions));
        CHECK_FALSE(has_finish(c));
      }
}

TEST_CASE("a cut after the head leaves no event") {
  for (const auto what : streamed) {
    const auto c = run_through({.faults = {.cut = {.rate = 1, .after = after_head}}}, what);
    CHECK(c.body.empty());
    CHECK(c.end == action::reset);
  }
}

TEST_CASE("a cut amid an event leaves its beginning, be it the last one") {
  for (const auto what : streamed)
    for (stream_place after : {after_head, 0, 2, 3}) {
      const auto c = run_through({.faults = {.cut = {.rate = 1, .after = after, .by = cut_kind::mid_event}}}, what);
      CHECK(c.end == action::reset);
      const auto last = c.body.rfind("\n\n");
      const auto rest = c.body.substr(last == std::string::npos ? 0 : last + 2);
      CHECK(rest.find("data: {") != std::string::npos);
      CHECK(rest.back() != '\n');
      const auto whole = content_in(c.body.substr(0, c.body.size() - rest.size()));
      CHECK(whole.chunks == static_cast<std::size_t>(std::max<stream_place>(after, 0)));
    }
}

TEST_CASE("a fault beyond the last chunk does not come") {
  const auto c = run_through({.faults = {.cut = {.rate = 1, .after = 4}, .stall = {.rate = 1, .after = 5}}});
  CHECK(ends_properly(c));
  CHECK(c.waits.empty());
}

TEST_CASE("a stall is for ever, or for a while") {
  for (const auto what : streamed)
    for (stream_place after : {after_head, 0, 2, 3}) {
      const auto ever = run_through({.faults = {.stall = {.rate = 1, .after = after}}}, what);
      CHECK(ever.for_ever);
      CHECK(content_in(ever.body).chunks == static_cast<std::size_t>(std::max<stream_place>(after, 0)));
      CHECK_FALSE(has_finish(ever));
      const auto while_ = run_through({.faults = {.stall = {.rate = 1, .after = after, .length = 7s}}}, what);
      CHECK(while_.waits == std::vector<duration>{7s});
      CHECK(content_in(while_.body).text == "one two three");
      CHECK(ends_properly(while_));
    }
}

TEST_CASE("a drip sends each event in pieces with a pause between") {
  for (const auto what : streamed) {
    const auto plain = run_through(stream_script{}, what);
    const auto c = run_through({.faults = {.drip = {.rate = 1, .bytes = 10, .delay = 2ms}}}, what);
    // Times of the two may differ by a second.
    CHECK(content_in(c.body).text == "one two three");
    CHECK(c.body.size() == plain.body.size());
    CHECK(ends_properly(c));
    CHECK(std::ranges::all_of(c.pieces, [](std::size_t n) { return n >= 1 && n <= 10; }));
    CHECK(c.waits.size() == c.pieces.size() - plain.pieces.size());
    CHECK(std::ranges::all_of(c.waits, [](duration d) { return d == 2ms; }));
  }
}

TEST_CASE("an error event is the first event or comes after so many chunks, and ends the stream") {
  for (const auto what : streamed)
    for (stream_place after : {after_head, 0, 2}) {
      const auto c = run_through(
          {.faults = {.error_event = {.rate = 1, .after = after, .code = "overloaded", .message = "no room"}}}, what);
      CHECK(c.end == action::end);
      const auto events = events_of(c.body);
      if (after == after_head)
        CHECK(events.size() == 1);
      CHECK(content_in(c.body).chunks == static_cast<std::size_t>(std::max<stream_place>(after, 0)));
      const auto data = data_of(events.back());
      const bool typed = what == operation::responses;
      CHECK(events.back().name == (typed ? "error" : ""));
      const auto& error = typed ? data : data.at("error");
      CHECK(error.at("message") == "no room");
      CHECK(error.at("code") == "overloaded");
      if (typed)
        CHECK(data.at("type") == "error");
      CHECK(c.body.find("[DONE]") == std::string::npos);
      CHECK_FALSE(has_finish(c));
    }
}

TEST_CASE("a malformed frame is one more event that is no JSON, and the stream goes on") {
  for (const auto what : streamed)
    for (stream_place after : {after_head, 0, 2, 3}) {
      const auto plain = events_of(run_through(stream_script{}, what).body);
      const auto c = run_through({.faults = {.malformed_frame = {.rate = 1, .after = after}}}, what);
      const auto events = events_of(c.body);
      REQUIRE(events.size() == plain.size() + 1);
      const auto broken = std::ranges::count_if(events, [](const event& e) {
        boost::json::error_code ec;
        boost::json::parse(e.data, ec);
        return ec && e.data != "[DONE]";
      });
      CHECK(broken == 1);
      CHECK(content_in(c.body).text == "one two three");
      CHECK(ends_properly(c));
    }
}

TEST_CASE("a stream may lack its finish reason, its last event or both") {
  for (const auto what : streamed) {
    const auto no_finish = run_through({.faults = {.missing_finish = 1}}, what);
    CHECK_FALSE(has_finish(no_finish));
    CHECK(ends_properly(no_finish));
    const auto no_done = run_through({.faults = {.missing_done = 1}}, what);
    CHECK(has_finish(no_done));
    CHECK_FALSE(ends_properly(no_done));
    CHECK(no_done.end == action::end);
    const auto neither = run_through({.faults = {.missing_done = 1, .missing_finish = 1}}, what);
    CHECK_FALSE(has_finish(neither));
    CHECK_FALSE(ends_properly(neither));
    CHECK(content_in(neither.body).text == "one two three");
  }
}

TEST_CASE("comments come between chunks") {
  for (const auto what : streamed) {
    const auto c = run_through({.comments = true}, what);
    const auto events = events_of(c.body);
    CHECK(std::ranges::count_if(events, [](const event& e) { return !e.comment.empty(); }) == 2);
    CHECK(content_in(c.body).text == "one two three");
    CHECK(ends_properly(c));
  }
}

TEST_CASE("keep-alives break a long pause, and only that") {
  const auto c = run_through({.first = fixed(10s), .interval = fixed(4s), .keep_alive = 4s});
  CHECK(c.waits == std::vector<duration>{4s, 4s, 2s, 4s, 4s});
  const auto events = events_of(c.body);
  CHECK(std::ranges::count_if(events, [](const event& e) { return e.comment == ": keep-alive"; }) == 2);
  CHECK(ends_properly(c));
}

TEST_CASE("keep-alives go on through a stall") {
  stream s(some_call(operation::completions), behaviour::answer,
           std::make_shared<const stream_script>(
               stream_script{.keep_alive = 1s, .faults = {.stall = {.rate = 1, .after = after_head}}}),
           1);
  const auto c = run_through(s, 1000);
  CHECK(c.waits.size() == 1000);
  CHECK(events_of(c.body).size() == 999);
}

TEST_CASE("each fault comes at its own rate, whatever the others do") {
  stream_faults f;
  f.cut.rate = 0.5;
  f.stall.rate = 0.25;
  f.missing_done = 0.1;
  random_source random(7);
  int cuts = 0, stalls = 0, both = 0, undone = 0;
  constexpr int n = 20'000;
  for (int i = 0; i < n; ++i) {
    const auto fate = draw_fate(f, behaviour::answer, random);
    cuts += fate.cut.has_value();
    stalls += fate.stall.has_value();
    both += fate.cut && fate.stall;
    undone += fate.missing_done;
    REQUIRE_FALSE(fate.error_event);
    REQUIRE_FALSE(fate.malformed_frame);
    REQUIRE_FALSE(fate.drips);
    REQUIRE_FALSE(fate.missing_finish);
  }
  CHECK(cuts == Approx(n * 0.5).epsilon(0.05));
  CHECK(stalls == Approx(n * 0.25).epsilon(0.05));
  CHECK(both == Approx(n * 0.125).epsilon(0.1));
  CHECK(undone == Approx(n * 0.1).epsilon(0.1));
}

TEST_CASE("behaviours that are wrong in a body are wrong in a stream, whatever its own faults are") {
  const stream_script s{.faults = {.cut = {.rate = 1}}};
  const auto as = [&](behaviour b) { return run_through(some_call(operation::chat_completions), s, b); };
  const auto empty = as(behaviour::empty_body);
  CHECK(empty.body.empty());
  CHECK(empty.end == action::stop);
  const auto malformed = events_of(as(behaviour::malformed_body).body);
  REQUIRE(malformed.size() == 2);
  CHECK(malformed.back().data.back() != '}');
  const auto error = events_of(as(behaviour::error_in_200).body);
  REQUIRE(error.size() == 1);
  CHECK(data_of(error[0]).as_object().contains("error"));
  const auto nothing = as(behaviour::no_content);
  CHECK(content_in(nothing.body).chunks == 0);
  CHECK(ends_properly(nothing));
}

TEST_CASE("a large event is sent in pieces") {
  const auto c = run_through({.chunks = 2, .text = std::string(longest_chunk, 'x')}, operation::responses);
  CHECK(*std::ranges::max_element(c.pieces) <= 16 * 1024);
  CHECK(content_in(c.body).text.size() == 2 * longest_chunk);
}
