#include "request_headers.hpp"

#include "answers.hpp"
#include "trace_context.hpp"

#include "switchyard/engine/duration_text.hpp"
#include "switchyard/engine/idempotency_ledger.hpp"

#include <algorithm>
#include <array>

namespace switchyard::gateway {

namespace {

constexpr std::string_view own_prefix = "X-Switchyard-";

constexpr std::array<std::string_view, 16> not_forwarded{"Connection",
                                                         "Keep-Alive",
                                                         "Proxy-Connection",
                                                         "Proxy-Authenticate",
                                                         "Proxy-Authorization",
                                                         "TE",
                                                         "Trailer",
                                                         "Transfer-Encoding",
                                                         "Upgrade",
                                                         "Authorization",
                                                         "Cookie",
                                                         "Idempotency-Key",
                                                         "Host",
                                                         "Content-Length",
                                                         "Accept-Encoding",
                                                         "Expect"};

bool is_own(std::string_view name) noexcept {
  return name.size() >= own_prefix.size() && same_field_name(name.substr(0, own_prefix.size()), own_prefix);
}

// Whether `name` is one of the comma-separated names of a Connection header: hop-by-hop by the client's own word.
bool is_listed(std::string_view connection, std::string_view name) {
  while (!connection.empty()) {
    const auto comma = std::min(connection.find(','), connection.size());
    auto token = connection.substr(0, comma);
    token.remove_prefix(std::min(token.find_first_not_of(" \t"), token.size()));
    token = token.substr(0, token.find_last_not_of(" \t") + 1);
    if (same_field_name(token, name))
      return true;
    connection.remove_prefix(std::min(comma + 1, connection.size()));
  }
  return false;
}

// A list may be spread over several fields (RFC 9110 5.3).
bool named_in_connection(const header_list& headers, std::string_view name) {
  for (const auto& f : headers)
    if (same_field_name(f.name, "Connection") && is_listed(f.value, name))
      return true;
  return false;
}

int occurrences(const header_list& headers, std::string_view name) {
  int count = 0;
  for (const auto& f : headers)
    count += same_field_name(f.name, name);
  return count;
}

// All fields of that name as one list (RFC 9110 5.3).
std::string joined_values(const header_list& headers, std::string_view name) {
  std::string all;
  for (const auto& f : headers)
    if (same_field_name(f.name, name))
      all.append(all.empty() ? "" : ", ").append(f.value);
  return all;
}

boost::system::result<std::optional<duration>, std::string> read_duration(const header_list& headers,
                                                                          std::string_view name) {
  const auto text = headers.find(name);
  if (!text)
    return std::optional<duration>{};
  const auto parsed = parse_duration(*text);
  if (!parsed || *parsed <= duration::zero())
    return std::string{name} + ": " + shown(*text) +
           " is not accepted: give a positive duration with a unit, e.g. 500ms, 30s, 10m, of at most " +
           format_duration(longest_duration);
  return parsed;
}

} // namespace

boost::system::result<request_options, std::string> read_options(const header_list& headers) {
  using result = boost::system::result<request_options, std::string>;
  const auto refused = [](const std::string& why) { return result{boost::system::in_place_error, why}; };
  for (const auto* name :
       {"Idempotency-Key", "X-Switchyard-Idempotency-TTL", "X-Switchyard-Timeout", "X-Switchyard-Fallback"})
    if (occurrences(headers, name) > 1)
      return refused(std::string{name} + " is given more than once: give it once");
  request_options o;
  if (const auto key = headers.find("Idempotency-Key")) {
    if (!valid_idempotency_key(*key))
      return refused("Idempotency-Key is not accepted: give 1 to 255 visible ASCII characters");
    o.idempotency_key = *key;
  }
  auto ttl = read_duration(headers, "X-Switchyard-Idempotency-TTL");
  if (!ttl)
    return refused(ttl.error());
  o.idempotency_ttl = *ttl;
  auto timeout = read_duration(headers, "X-Switchyard-Timeout");
  if (!timeout)
    return refused(timeout.error());
  o.timeout = *timeout;
  if (const auto fallback = headers.find("X-Switchyard-Fallback")) {
    if (!same_field_name(*fallback, "off") && !same_field_name(*fallback, "on"))
      return refused("X-Switchyard-Fallback: " + shown(*fallback) + " is not accepted: give on or off");
    o.fallback = same_field_name(*fallback, "on");
  }
  o.cache = parse_cache_control(joined_values(headers, "Cache-Control"));
  return o;
}

std::optional<std::string_view> usable_request_id(const header_list& headers) noexcept {
  const auto id = headers.find("X-Request-Id");
  if (!id || id->empty() || id->size() > 128)
    return std::nullopt;
  const bool good = std::all_of(id->begin(), id->end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
  return good ? id : std::nullopt;
}

bool is_forwarded(std::string_view name) noexcept {
  return !is_own(name) && std::none_of(not_forwarded.begin(), not_forwarded.end(),
                                       [&](std::string_view n) { return same_field_name(n, name); });
}

header_list forwarded_headers(const header_list& headers, std::string_view request_id) {
  const bool lists_names = headers.contains("Connection");
  header_list forwarded;
  forwarded.reserve(headers.text().size() + request_id.size() + 24);
  for (const auto& f : headers) {
    if (is_forwarded(f.name) && !same_field_name(f.name, "X-Request-Id") && !is_trace_field(f.name) &&
        !(lists_names && named_in_connection(headers, f.name)))
      forwarded.add(f.name, f.value);
  }
  forwarded.add("X-Request-Id", request_id);
  return forwarded;
}

} // namespace switchyard::gateway
