#include "statistics.hpp"

#include <algorithm>

namespace faulty {
namespace {

namespace json = boost::json;

constexpr std::size_t most_keys = 64;

// Enough to tell keys apart, too little to use one.
std::string masked(std::string_view authorization) {
  constexpr std::string_view scheme = "Bearer ";
  if (authorization.empty())
    return "none";
  if (authorization.starts_with(scheme))
    authorization.remove_prefix(scheme.size());
  return authorization.size() < 12 ? "..." : "..." + std::string(authorization.substr(authorization.size() - 4));
}

} // namespace

void statistics::began(std::string_view authorization, behaviour b) {
  ++requests_;
  max_in_flight_ = std::max(max_in_flight_, ++in_flight_);
  ++by_behaviour_[static_cast<std::size_t>(b)];
  std::string key = masked(authorization);
  if (keys_.size() >= most_keys && !keys_.contains(key))
    key = "other";
  ++keys_[key];
}

void statistics::completed(int status) {
  ended();
  ++completed_;
  if (status != 0)
    ++by_status_[status];
}

void statistics::aborted() {
  ended();
  ++aborted_;
}

void statistics::stream_began() noexcept {
  ++streams_begun_;
  max_open_streams_ = std::max(max_open_streams_, ++open_streams_);
}

void statistics::stream_ended(stream_end how) noexcept {
  --open_streams_;
  ++streams_ended_[static_cast<std::size_t>(how)];
}

void statistics::reset() {
  const auto in_flight = in_flight_, open_streams = open_streams_;
  *this = {};
  in_flight_ = max_in_flight_ = in_flight;
  open_streams_ = max_open_streams_ = open_streams;
}

json::object statistics::streams_to_json() const {
  json::object out{{"begun", streams_begun_}};
  for (std::size_t i = 0; i < stream_end_names.size(); ++i)
    out[json::string_view(stream_end_names[i].data(), stream_end_names[i].size())] = streams_ended_[i];
  out["open"] = open_streams_;
  out["max_open"] = max_open_streams_;
  out["bytes"] = stream_bytes_;
  out["waits"] = stream_waits_;
  return out;
}

json::object statistics::to_json() const {
  json::object status, behaviours, keys;
  for (const auto& [code, count] : by_status_)
    status[std::to_string(code)] = count;
  for (std::size_t i = 0; i < by_behaviour_.size(); ++i)
    if (by_behaviour_[i] != 0) {
      const auto name = to_string(static_cast<behaviour>(i));
      behaviours[json::string_view(name.data(), name.size())] = by_behaviour_[i];
    }
  for (const auto& [key, count] : keys_)
    keys[key] = count;
  return {{"requests", requests_},
          {"completed", completed_},
          {"aborted", aborted_},
          {"in_flight", in_flight_},
          {"max_in_flight", max_in_flight_},
          {"by_status", std::move(status)},
          {"by_behaviour", std::move(behaviours)},
          {"keys", std::move(keys)},
          {"streams", streams_to_json()}};
}

} // namespace faulty
