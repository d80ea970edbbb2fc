#include "queries.hpp"

#include "time_text.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/url/params_encoded_view.hpp>
#include <boost/url/parse_query.hpp>

#include <algorithm>
#include <charconv>

namespace switchyard::admin {

namespace {

namespace json = boost::json;

constexpr std::size_t largest_limit = 10'000;

std::string not_a_time(std::string_view key, std::string_view value) {
  return std::string{key} + "=" + std::string{value} +
         " is no time: give RFC 3339 (2026-01-31T12:00:00Z) or Unix milliseconds";
}

/// What is wrong with a parameter; nothing when all is well.
using objection = std::optional<std::string>;

// Shows every parameter of a query to `take`.
template <class Take>
objection read_parameters(std::string_view query, Take take) {
  const auto params = boost::urls::parse_query(query);
  if (!params)
    return "the query is malformed: percent-encode (%XX) what is neither a letter nor a digit";
  for (const auto& p : *params)
    if (auto wrong = take(p.key.decode(), p.value.decode()))
      return wrong;
  return std::nullopt;
}

// `since` and `until`; whether the parameter is one of them.
bool is_time(std::string_view key) {
  return key == "since" || key == "until";
}

template <class Query>
objection read_time(const std::string& key, const std::string& value, Query& q) {
  const auto t = parse_time(value);
  if (!t)
    return not_a_time(key, value);
  (key == "since" ? q.since : q.until) = t;
  return std::nullopt;
}

} // namespace

boost::system::result<telemetry_query, std::string> parse_telemetry_query(std::string_view query) {
  telemetry_query q;
  const auto wrong = read_parameters(query, [&](const std::string& key, const std::string& value) -> objection {
    if (is_time(key))
      return read_time(key, value, q);
    if (key == "provider") {
      q.provider = value;
    } else if (key == "request_id") {
      q.request_id = value;
    } else if (key == "limit") {
      const auto [stop, failed] = std::from_chars(value.data(), value.data() + value.size(), q.limit);
      if (failed != std::errc{} || stop != value.data() + value.size() || q.limit == 0 || q.limit > largest_limit)
        return "limit=" + value + " is not accepted: give 1 to " + std::to_string(largest_limit);
    } else {
      return "unknown parameter " + key + ": known are since, until, provider, request_id, limit";
    }
    return std::nullopt;
  });
  if (wrong)
    return *wrong;
  return q;
}

boost::system::result<usage_question, std::string> parse_usage_query(std::string_view query) {
  usage_question q;
  const auto wrong = read_parameters(query, [&](const std::string& key, const std::string& value) -> objection {
    if (is_time(key))
      return read_time(key, value, q);
    if (key != "group_by")
      return "unknown parameter " + key + ": known are group_by, since, until";
    const auto* name = std::ranges::find(group_names, value);
    if (name == group_names.end())
      return "group_by=" + value + " is not accepted: give tenant, route or model";
    q.by = static_cast<usage_group>(name - group_names.begin());
    return std::nullopt;
  });
  if (wrong)
    return *wrong;
  return q;
}

boost::system::result<change_circuit, std::string> parse_circuit_change(std::string_view body) {
  using result = boost::system::result<change_circuit, std::string>;
  const auto refused = [](const std::string& why) { return result{boost::system::in_place_error, why}; };
  static const std::string accepted = R"(give {"mode":"auto"|"forced_open"|"disabled"} or {"reset":true})";
  boost::system::error_code failed;
  const auto value = json::parse(body, failed);
  if (failed)
    return refused("the body is not JSON (" + failed.message() + "): " + accepted);
  if (!value.is_object())
    return refused("the body is not a JSON object: " + accepted);
  change_circuit change;
  for (const auto& [key, v] : value.get_object()) {
    if (key == "mode" && v.is_string() && v.get_string() == "auto")
      change.mode = circuit_mode::automatic;
    else if (key == "mode" && v.is_string() && v.get_string() == "forced_open")
      change.mode = circuit_mode::forced_open;
    else if (key == "mode" && v.is_string() && v.get_string() == "disabled")
      change.mode = circuit_mode::disabled;
    else if (key == "reset" && v.is_bool())
      change.reset = v.get_bool();
    else if (key == "mode" || key == "reset")
      return refused(std::string{key} + ": " + json::serialize(v) + " is not accepted: " + accepted);
    else
      return refused("unknown key " + std::string{key} + ": " + accepted);
  }
  if (!change.mode && !change.reset)
    return refused("nothing to change: " + accepted);
  return change;
}

} // namespace switchyard::admin
