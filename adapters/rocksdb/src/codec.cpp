#include "codec.hpp"

#include "bytes.hpp"

#include <algorithm>

namespace switchyard::store {
namespace {

// Failure classes are written as their number. Whoever inserts one in the middle must write a new layout.
static_assert(failure_class_count == 17 && static_cast<int>(failure_class::unknown) == 16);

// An optional value is a byte 0, or a byte 1 and the value; flags are such bytes too. Compression makes them cheap.
bool read_flag(byte_reader& in) {
  auto b = in.u8();
  if (b > 1)
    in.fail();
  return b == 1;
}

template <class T, class Write>
void write_optional(byte_writer& out, const std::optional<T>& v, Write write) {
  out.u8(v.has_value());
  if (v)
    write(*v);
}

template <class T, class Read>
std::optional<T> read_optional(byte_reader& in, Read read) {
  if (!read_flag(in))
    return std::nullopt;
  return static_cast<T>(read());
}

void write_failure(byte_writer& out, const std::optional<failure_class>& f) {
  write_optional(out, f, [&](failure_class v) { out.u8(static_cast<std::uint8_t>(v)); });
}

std::optional<failure_class> read_failure(byte_reader& in) {
  auto number = read_optional<int>(in, [&] { return in.u8(); });
  if (number && *number >= failure_class_count) {
    in.fail();
    return std::nullopt;
  }
  return number ? std::optional(static_cast<failure_class>(*number)) : std::nullopt;
}

void write_duration(byte_writer& out, const std::optional<duration>& d) {
  write_optional(out, d, [&](duration v) { out.signed_varint(v.count()); });
}

std::optional<duration> read_duration(byte_reader& in) {
  return read_optional<duration>(in, [&] { return duration(in.signed_varint()); });
}

void write_tokens(byte_writer& out, const token_usage& t) {
  write_optional(out, t.input, [&](std::uint64_t v) { out.varint(v); });
  write_optional(out, t.output, [&](std::uint64_t v) { out.varint(v); });
  out.u8(t.estimated);
}

token_usage read_tokens(byte_reader& in) {
  token_usage t;
  t.input = read_optional<std::uint64_t>(in, [&] { return in.varint(); });
  t.output = read_optional<std::uint64_t>(in, [&] { return in.varint(); });
  t.estimated = read_flag(in);
  return t;
}

void write_time(byte_writer& out, wall_time t) {
  out.u64(static_cast<std::uint64_t>(t.time_since_epoch().count()));
}

wall_time read_time(byte_reader& in) {
  return wall_time(duration(static_cast<std::int64_t>(in.u64())));
}

void write_attempt(byte_writer& out, const attempt_row& a) {
  write_time(out, a.time);
  for (const auto* s : {&a.route, &a.provider, &a.model, &a.region, &a.circuit})
    out.text(*s);
  out.u8(a.success);
  write_failure(out, a.failure);
  write_optional(out, a.status, [&](int v) { out.signed_varint(v); });
  out.signed_varint(a.latency.count());
  write_duration(out, a.time_to_first_token);
  out.u8(a.outcome_unknown);
  write_tokens(out, a.tokens);
}

attempt_row read_attempt(byte_reader& in) {
  attempt_row a;
  a.time = read_time(in);
  for (auto* s : {&a.route, &a.provider, &a.model, &a.region, &a.circuit})
    *s = in.text();
  a.success = read_flag(in);
  a.failure = read_failure(in);
  a.status = read_optional<int>(in, [&] { return in.narrow<int>(); });
  a.latency = duration(in.signed_varint());
  a.time_to_first_token = read_duration(in);
  a.outcome_unknown = read_flag(in);
  a.tokens = read_tokens(in);
  return a;
}

void write_request(byte_writer& out, const request_row& r) {
  write_time(out, r.time);
  for (const auto* s : {&r.request_id, &r.operation, &r.tenant, &r.requested_route, &r.route, &r.provider, &r.model,
                        &r.region, &r.code})
    out.text(*s);
  for (bool flag : {r.success, r.replayed, r.cached, r.interrupted, r.outcome_unknown})
    out.u8(flag);
  write_failure(out, r.failure);
  write_optional(out, r.status, [&](int v) { out.signed_varint(v); });
  out.signed_varint(r.latency.count());
  write_duration(out, r.time_to_first_token);
  out.signed_varint(r.attempts);
  out.signed_varint(r.fallbacks);
  write_tokens(out, r.tokens);
  write_optional(out, r.cost, [&](double v) { out.real(v); });
}

request_row read_request(byte_reader& in) {
  request_row r;
  r.time = read_time(in);
  for (auto* s : {&r.request_id, &r.operation, &r.tenant, &r.requested_route, &r.route, &r.provider, &r.model,
                  &r.region, &r.code})
    *s = in.text();
  for (auto* flag : {&r.success, &r.replayed, &r.cached, &r.interrupted, &r.outcome_unknown})
    *flag = read_flag(in);
  r.failure = read_failure(in);
  r.status = read_optional<int>(in, [&] { return in.narrow<int>(); });
  r.latency = duration(in.signed_varint());
  r.time_to_first_token = read_duration(in);
  r.attempts = in.narrow<std::uint32_t>();
  r.fallbacks = in.narrow<std::uint32_t>();
  r.tokens = read_tokens(in);
  r.cost = read_optional<double>(in, [&] { return in.real(); });
  return r;
}

byte_writer begin(std::string& out, layout l) {
  byte_writer w(out);
  w.u8(static_cast<std::uint8_t>(l));
  return w;
}

/// Positions a reader after the first byte; failed when that byte is not `l`.
byte_reader open(std::string_view value, layout l) {
  byte_reader in(value);
  if (in.u8() != static_cast<std::uint8_t>(l))
    in.fail();
  return in;
}

} // namespace

layout layout_of(std::string_view value) noexcept {
  return value.empty() ? layout{} : static_cast<layout>(static_cast<std::uint8_t>(value.front()));
}

std::string encode(const telemetry_record& r) {
  std::string out;
  out.reserve(256 + 128 * r.attempts.size());
  auto w = begin(out, layout::record);
  write_request(w, r.request);
  w.varint(r.attempts.size());
  for (const auto& a : r.attempts)
    write_attempt(w, a);
  return out;
}

std::optional<telemetry_record> decode_record(std::string_view value) {
  auto in = open(value, layout::record);
  telemetry_record r;
  r.request = read_request(in);
  auto count = in.varint();
  // A count that lies ends with the input; it must not reserve memory first.
  for (std::uint64_t i = 0; i < count && in.ok(); ++i)
    r.attempts.push_back(read_attempt(in));
  return in.done() ? std::optional(std::move(r)) : std::nullopt;
}

std::string encode(std::string_view request_id, const attempt_row& late) {
  std::string out;
  auto w = begin(out, layout::late_attempt);
  w.text(request_id);
  write_attempt(w, late);
  return out;
}

std::optional<late_attempt> decode_late_attempt(std::string_view value) {
  auto in = open(value, layout::late_attempt);
  late_attempt a;
  a.request_id = in.text();
  a.row = read_attempt(in);
  return in.done() ? std::optional(std::move(a)) : std::nullopt;
}

std::string encode(const stored_answer& a) {
  std::string out;
  out.reserve(80 + a.content_type.size() + a.body.size());
  auto w = begin(out, a.reserved ? layout::reservation : a.outcome_unknown ? layout::rerun_answer : layout::answer);
  write_time(w, a.stored_at);
  w.u64(static_cast<std::uint64_t>(a.ttl.count()));
  w.raw({reinterpret_cast<const char*>(a.fingerprint.data()), a.fingerprint.size()});
  if (a.reserved)
    return out;
  w.signed_varint(a.status);
  w.text(a.content_type);
  w.text(a.body);
  return out;
}

namespace {

bool is_of_a_key(layout l) noexcept {
  return l == layout::answer || l == layout::reservation || l == layout::rerun_answer;
}

/// Positions a reader after the first byte of what is stored of a key; failed when it is something else.
byte_reader open_key(std::string_view value) {
  const auto l = layout_of(value);
  return open(value, is_of_a_key(l) ? l : layout::answer);
}

} // namespace

std::optional<stored_answer> decode_answer(std::string_view value) {
  auto in = open_key(value);
  stored_answer a;
  a.reserved = layout_of(value) == layout::reservation;
  a.outcome_unknown = layout_of(value) == layout::rerun_answer;
  a.stored_at = read_time(in);
  a.ttl = duration(static_cast<std::int64_t>(in.u64()));
  std::ranges::copy(in.raw(a.fingerprint.size()), reinterpret_cast<char*>(a.fingerprint.data()));
  if (!a.reserved) {
    a.status = in.narrow<int>();
    a.content_type = in.text();
    a.body = in.text();
  }
  return in.done() ? std::optional(std::move(a)) : std::nullopt;
}

std::optional<answer_age> decode_answer_age(std::string_view value) noexcept {
  auto in = open_key(value);
  answer_age a;
  a.stored_at = read_time(in);
  a.ttl = duration(static_cast<std::int64_t>(in.u64()));
  return in.ok() ? std::optional(a) : std::nullopt;
}

std::string encode(const stored_budget& b) {
  std::string out;
  auto w = begin(out, layout::budget);
  w.u64(static_cast<std::uint64_t>(b.window.count()));
  write_time(w, b.window_started);
  write_time(w, b.written_at);
  w.varint(b.used.requests);
  w.varint(b.used.tokens);
  w.real(b.used.cost);
  return out;
}

std::optional<stored_budget> decode_budget(std::string_view value) {
  auto in = open(value, layout::budget);
  stored_budget b;
  b.window = duration(static_cast<std::int64_t>(in.u64()));
  b.window_started = read_time(in);
  b.written_at = read_time(in);
  b.used.requests = in.varint();
  b.used.tokens = in.varint();
  b.used.cost = in.real();
  return in.done() && b.window > duration::zero() ? std::optional(std::move(b)) : std::nullopt;
}

std::string encode(const usage_totals& u) {
  std::string out;
  auto w = begin(out, layout::usage);
  for (const auto count : {u.requests, u.input_tokens, u.output_tokens, u.estimated, u.unpriced})
    w.varint(count);
  w.real(u.cost);
  return out;
}

std::optional<usage_totals> decode_usage(std::string_view value) {
  auto in = open(value, layout::usage);
  usage_totals u;
  for (auto* count : {&u.requests, &u.input_tokens, &u.output_tokens, &u.estimated, &u.unpriced})
    *count = in.varint();
  u.cost = in.real();
  return in.done() ? std::optional(u) : std::nullopt;
}

} // namespace switchyard::store
