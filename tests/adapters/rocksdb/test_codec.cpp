#include "bytes.hpp"
#include "codec.hpp"
#include "fixture.hpp"
#include "keys.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

using namespace switchyard;
using namespace switchyard::store;

namespace {

template <class T>
std::optional<T> maybe(rc::Gen<T> g) {
  return *rc::gen::arbitrary<bool>() ? std::optional<T>(*g) : std::nullopt;
}

std::string any_text() {
  return *rc::gen::arbitrary<std::string>();
}

duration any_duration() {
  return duration(*rc::gen::arbitrary<std::int64_t>());
}

std::optional<failure_class> any_failure() {
  auto number = maybe(rc::gen::inRange(0, failure_class_count));
  return number ? std::optional(static_cast<failure_class>(*number)) : std::nullopt;
}

token_usage any_tokens() {
  return {maybe(rc::gen::arbitrary<std::uint64_t>()), maybe(rc::gen::arbitrary<std::uint64_t>()),
          *rc::gen::arbitrary<bool>()};
}

std::optional<duration> maybe_duration() {
  auto ns = maybe(rc::gen::arbitrary<std::int64_t>());
  return ns ? std::optional(duration(*ns)) : std::nullopt;
}

attempt_row any_attempt() {
  attempt_row a;
  a.time = wall_time(any_duration());
  for (auto* s : {&a.route, &a.provider, &a.model, &a.region, &a.circuit})
    *s = any_text();
  a.success = *rc::gen::arbitrary<bool>();
  a.failure = any_failure();
  a.status = maybe(rc::gen::arbitrary<int>());
  a.latency = any_duration();
  a.time_to_first_token = maybe_duration();
  a.outcome_unknown = *rc::gen::arbitrary<bool>();
  a.tokens = any_tokens();
  return a;
}

telemetry_record any_record() {
  telemetry_record record;
  auto& r = record.request;
  r.time = wall_time(any_duration());
  for (auto* s : {&r.request_id, &r.operation, &r.tenant, &r.requested_route, &r.route, &r.provider, &r.model,
                  &r.region, &r.code})
    *s = any_text();
  for (auto* flag : {&r.success, &r.replayed, &r.cached, &r.interrupted, &r.outcome_unknown})
    *flag = *rc::gen::arbitrary<bool>();
  r.failure = any_failure();
  r.status = maybe(rc::gen::arbitrary<int>());
  r.latency = any_duration();
  r.time_to_first_token = maybe_duration();
  r.attempts = *rc::gen::arbitrary<std::uint32_t>();
  r.fallbacks = *rc::gen::arbitrary<std::uint32_t>();
  r.tokens = any_tokens();
  r.cost = maybe(rc::gen::arbitrary<double>());
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    record.attempts.push_back(any_attempt());
  return record;
}

bool same(const token_usage& a, const token_usage& b) {
  return a.input == b.input && a.output == b.output && a.estimated == b.estimated;
}

bool same(const attempt_row& a, const attempt_row& b) {
  return std::tie(a.time, a.route, a.provider, a.model, a.region, a.circuit, a.success, a.failure, a.status, a.latency,
                  a.time_to_first_token, a.outcome_unknown) ==
             std::tie(b.time, b.route, b.provider, b.model, b.region, b.circuit, b.success, b.failure, b.status,
                      b.latency, b.time_to_first_token, b.outcome_unknown) &&
         same(a.tokens, b.tokens);
}

bool same(const request_row& a, const request_row& b) {
  auto texts = [](const request_row& r) {
    return std::tie(r.request_id, r.operation, r.tenant, r.requested_route, r.route, r.provider, r.model, r.region,
                    r.code);
  };
  auto rest = [](const request_row& r) {
    return std::tie(r.time, r.success, r.failure, r.status, r.latency, r.time_to_first_token, r.attempts, r.fallbacks,
                    r.replayed, r.cached, r.interrupted, r.outcome_unknown, r.cost);
  };
  return texts(a) == texts(b) && rest(a) == rest(b) && same(a.tokens, b.tokens);
}

bool same(const telemetry_record& a, const telemetry_record& b) {
  return same(a.request, b.request) &&
         std::ranges::equal(a.attempts, b.attempts, [](const auto& x, const auto& y) { return same(x, y); });
}

stored_answer any_answer() {
  stored_answer a;
  for (auto& b : a.fingerprint)
    b = *rc::gen::arbitrary<std::uint8_t>();
  a.status = *rc::gen::arbitrary<int>();
  a.content_type = any_text();
  a.body = any_text();
  a.stored_at = wall_time(any_duration());
  a.ttl = any_duration();
  return a;
}

} // namespace

TEST_CASE("any record survives encoding [H4]") {
  CHECK(rc::check("record", [] {
    auto record = any_record();
    auto back = decode_record(encode(record));
    RC_ASSERT(back.has_value());
    RC_ASSERT(same(record, *back));
  }));
  CHECK(rc::check("late attempt", [] {
    auto attempt = any_attempt();
    auto id = any_text();
    auto back = decode_late_attempt(encode(id, attempt));
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->request_id == id);
    RC_ASSERT(same(attempt, back->row));
  }));
}

TEST_CASE("any answer survives encoding byte for byte [I5]") {
  CHECK(rc::check("answer", [] {
    auto a = any_answer();
    auto bytes = encode(a);
    auto back = decode_answer(bytes);
    RC_ASSERT(back.has_value());
    RC_ASSERT(std::tie(a.fingerprint, a.status, a.content_type, a.body, a.stored_at, a.ttl) ==
              std::tie(back->fingerprint, back->status, back->content_type, back->body, back->stored_at, back->ttl));
    auto age = decode_answer_age(bytes);
    RC_ASSERT(age.has_value());
    RC_ASSERT(age->stored_at == a.stored_at);
    RC_ASSERT(age->ttl == a.ttl);
  }));
}

TEST_CASE("a value that was cut short, lengthened or of another layout decodes to nothing [H7]") {
  CHECK(rc::check("cut", [] {
    auto bytes = encode(any_record());
    RC_ASSERT(!decode_record(bytes.substr(0, *rc::gen::inRange<std::size_t>(0, bytes.size()))));
    RC_ASSERT(!decode_record(bytes + 'x'));
    RC_ASSERT(!decode_answer(bytes));
    RC_ASSERT(!decode_late_attempt(bytes));
    auto other = *rc::gen::arbitrary<char>();
    RC_PRE(other != bytes.front());
    bytes.front() = other;
    RC_ASSERT(!decode_record(bytes));
  }));
  auto answer = encode(store::test::make_answer("body"));
  for (std::size_t size = 0; size < answer.size(); ++size)
    CHECK_FALSE(decode_answer(answer.substr(0, size)));
  CHECK_FALSE(decode_answer(answer + 'x'));
}

TEST_CASE("hostile bytes decode to nothing or to a value, and to the same value again [H7]") {
  auto stable = [](std::string bytes) {
    if (auto r = decode_record(bytes)) {
      auto again = decode_record(encode(*r));
      RC_ASSERT(again.has_value());
      RC_ASSERT(encode(*again) == encode(*r)); // by bytes: a NaN is not equal to itself
    }
    if (auto a = decode_answer(bytes))
      RC_ASSERT(decode_answer(encode(*a)).has_value());
    if (auto l = decode_late_attempt(bytes))
      RC_ASSERT(decode_late_attempt(encode(l->request_id, l->row)).has_value());
  };
  CHECK(rc::check("noise", [&] {
    auto bytes = *rc::gen::arbitrary<std::string>();
    bytes.insert(bytes.begin(), static_cast<char>(*rc::gen::inRange(0, 5)));
    stable(bytes);
  }));
  CHECK(rc::check("one byte changed", [&] {
    auto bytes = encode(any_record());
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
    stable(bytes);
  }));
}

TEST_CASE("a length or a count that lies reserves no memory [H7]") {
  std::string lie{static_cast<char>(layout::late_attempt)};
  byte_writer(lie).varint(~std::uint64_t{0});
  CHECK_FALSE(decode_late_attempt(lie));

  telemetry_record r;
  auto bytes = encode(r); // ends with the number of attempts, zero
  REQUIRE(bytes.back() == 0);
  bytes.pop_back();
  byte_writer(bytes).varint(std::uint64_t{1} << 60);
  CHECK_FALSE(decode_record(bytes));
}

TEST_CASE("telemetry keys sort by time and then by sequence [H6]") {
  CHECK(rc::check("order", [] {
    auto non_negative = [] {
      return *rc::gen::map(rc::gen::arbitrary<std::int64_t>(),
                           [](std::int64_t v) { return v & std::numeric_limits<std::int64_t>::max(); });
    };
    auto a = std::pair(wall_time(duration(non_negative())), *rc::gen::arbitrary<std::uint64_t>());
    auto b = std::pair(wall_time(duration(non_negative())), *rc::gen::arbitrary<std::uint64_t>());
    auto ka = telemetry_key(a.first, a.second), kb = telemetry_key(b.first, b.second);
    RC_ASSERT((ka < kb) == (a < b));
    RC_ASSERT(time_of_telemetry_key(ka) == a.first);
  }));
  CHECK_FALSE(time_of_telemetry_key("short"));
  CHECK_FALSE(time_of_telemetry_key(std::string(16, '\xff')));
}

TEST_CASE("times do not overflow at the ends of the clock [C18]") {
  CHECK(before(wall_time::min() + 1s, 2s) == wall_time::min());
  CHECK(before(store::test::epoch, 1s) + 1s == store::test::epoch);
  CHECK(after(wall_time::max() - 1s, 2s) == wall_time::max());
  CHECK(after(wall_time::min(), 1s) == wall_time::min() + 1s);
  CHECK(before(wall_time::max(), duration::max()) == wall_time(0ns));
}
