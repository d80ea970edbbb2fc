#include "answers.hpp"

#include "switchyard/json/json_text.hpp"

#include <boost/json/value.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace switchyard::gateway {

namespace {

namespace json = boost::json;
using std::chrono::seconds;

// A client library that retries by itself does so within about this; what takes longer it should leave alone.
constexpr seconds longest_client_wait{30};

std::int64_t wait_ms(duration wait) {
  return std::max<std::int64_t>(1, ceil_ms(wait));
}

void add_wait(header_list& headers, duration wait, bool with_seconds) {
  if (with_seconds)
    headers.add("Retry-After", std::to_string(std::chrono::ceil<seconds>(std::max(wait, duration{1})).count()));
  headers.add("retry-after-ms", std::to_string(wait_ms(wait)));
}

// Whether a client's own retry would only multiply load.
bool retry_is_futile(errc code, int status, std::optional<duration> wait) {
  switch (code) {
  case errc::budget_exceeded:
  case errc::deadline_exceeded:
  case errc::upstream_connection:
  case errc::upstream_invalid:
  case errc::upstream_timeout:
  case errc::upstream_error:
  case errc::idempotency_interrupted:
    return true;
  case errc::fallback_exhausted:
    return status == 502 || (wait && *wait > longest_client_wait);
  default:
    return wait && *wait > longest_client_wait;
  }
}

json::array trail_json(const std::vector<trail_entry>& trail) {
  json::array all;
  for (const auto& t : trail)
    all.push_back({{"route", t.route},
                   {"provider", t.provider},
                   {"model", t.model},
                   {"class", to_string(t.what)},
                   {"status", t.status ? json::value(*t.status) : json::value(nullptr)},
                   {"latency_ms", std::chrono::round<std::chrono::microseconds>(t.latency).count() / 1000.0},
                   {"message", t.message}});
  return all;
}

std::string error_body(std::string_view request_id, std::string_view code, std::string_view message,
                       std::optional<duration> retry_after, json::array attempts) {
  json::object error{{"message", message},
                     {"type", "switchyard_error"},
                     {"code", code},
                     {"param", nullptr},
                     {"request_id", request_id},
                     {"retry_after_ms", retry_after ? json::value(wait_ms(*retry_after)) : json::value(nullptr)},
                     {"attempts", std::move(attempts)}};
  return to_json_text({{"error", std::move(error)}}) + "\n";
}

void add_counts(header_list& headers, std::string_view request_id, std::uint32_t attempts, std::uint32_t fallbacks) {
  headers.add("X-Request-Id", request_id);
  headers.add("X-Switchyard-Attempts", std::to_string(attempts));
  headers.add("X-Switchyard-Fallbacks", std::to_string(fallbacks));
}

// The provider's headers, its own request id under another name, without what only the gateway may say: also which web
// pages may read its answers.
void add_provider_headers(header_list& headers, const header_list& from, bool own_advice) {
  constexpr std::string_view own = "X-Switchyard-", pages = "Access-Control-";
  for (const auto& f : from) {
    if (same_field_name(f.name, "X-Request-Id"))
      headers.add("X-Switchyard-Upstream-Request-Id", f.value);
    else if (same_field_name(f.name.substr(0, own.size()), own) ||
             same_field_name(f.name.substr(0, pages.size()), pages) ||
             same_field_name(f.name, "Idempotency-Replayed") ||
             (own_advice && same_field_name(f.name, "x-should-retry")))
      continue;
    else
      headers.add(f.name, f.value);
  }
}

} // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t longest = 100;
  return text.size() <= longest ? std::string{text} : std::string{text.substr(0, longest)} + "...";
}

void reply_error(http::exchange& x, std::string_view request_id, errc code, std::string_view message,
                 std::optional<duration> retry_after, const request_result* result, std::string_view allowed) {
  const int status = http_status(code, result && result->all_refused);
  header_list headers;
  headers.reserve(320);
  headers.add("Content-Type", "application/json");
  add_counts(headers, request_id, result ? result->attempts : 0, result ? result->fallbacks : 0);
  if (retry_after && (status == 429 || status == 503 || status == 409))
    add_wait(headers, *retry_after, true);
  // A keyed call whose answer could not be stored was paid for: to send it again is to pay again.
  const bool paid = code == errc::store_unavailable && result && result->attempts > 0;
  if (paid || retry_is_futile(code, status, retry_after))
    headers.add("x-should-retry", "false");
  if (code == errc::unauthorized)
    headers.add("WWW-Authenticate", "Bearer");
  if (!allowed.empty())
    headers.add("Allow", allowed);
  x.reply(status, headers,
          error_body(request_id, to_string(code), message, retry_after,
                     result ? trail_json(result->trail) : json::array{}));
}

header_list result_headers(std::string_view request_id, const request_result& r) {
  const auto& content = *r.content;
  header_list headers;
  headers.reserve(content.headers.text().size() + 320);
  const bool futile = r.what == request_result::kind::provider_error &&
                      (r.attempts > 1 || (r.retry_after && *r.retry_after > longest_client_wait));
  add_provider_headers(headers, content.headers, futile);
  add_counts(headers, request_id, r.attempts, r.fallbacks);
  if (!r.served.route.empty()) {
    headers.add("X-Switchyard-Route", r.served.route);
    headers.add("X-Switchyard-Provider", r.served.provider);
    headers.add("X-Switchyard-Model", r.served.model);
  }
  if (r.replayed)
    headers.add("Idempotency-Replayed", "true");
  if (r.cached)
    headers.add("X-Switchyard-Cache", "hit");
  if (r.age)
    headers.add("Age", std::to_string(std::chrono::floor<seconds>(*r.age).count())); // RFC 9111 5.1
  if (r.degraded != degradation::none)
    headers.add("X-Switchyard-Degraded", r.degraded == degradation::stale ? "stale" : "static");
  if (r.what == request_result::kind::provider_error) {
    const bool limited = content.status == 429 || content.status == 503;
    if (r.retry_after && limited && !content.headers.contains("retry-after-ms"))
      add_wait(headers, *r.retry_after, !content.headers.contains("Retry-After"));
    if (futile)
      headers.add("x-should-retry", "false");
  }
  return headers;
}

void reply_result(http::exchange& x, std::string_view request_id, const request_result& r) {
  if (r.what == request_result::kind::own_error)
    return reply_error(x, request_id, r.code, r.message, r.retry_after, &r);
  x.reply(r.content->status, result_headers(request_id, r), r.content->body);
}

std::string stream_error_event(openai::operation op, std::string_view request_id, const request_result& r) {
  json::object event;
  if (op == openai::operation::responses)
    event["type"] = "error";
  event["error"] = json::object{{"message", r.message},
                                {"type", "switchyard_error"},
                                {"code", to_string(r.code)},
                                {"param", nullptr},
                                {"request_id", request_id}};
  return "event: error\ndata: " + to_json_text(event) + "\n\n";
}

std::pair<header_list, std::string> format_refusal(const http::refusal& refused, std::string_view request_id) {
  header_list headers;
  headers.add("Content-Type", "application/json");
  add_counts(headers, request_id, 0, 0);
  return {std::move(headers), error_body(request_id, refused.code, refused.message, {}, {})};
}

} // namespace switchyard::gateway
