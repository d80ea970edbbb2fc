#pragma once

// The keys on disk.
//
//   telemetry             time of the row's begin (8 bytes), sequence (8 bytes)
//   telemetry_by_request  request id, a zero byte, the record's telemetry key
//   telemetry_by_provider provider, a zero byte, the record's telemetry key; once for each provider in the record
//   usage                 begin of the hour (8 bytes), tenant, route, provider and model
//   answers               the scope's text
//   budgets               the ledger's name
//   default               "format": the format's version; "usage_batch": the number of the last batch with usage
//
// Numbers are big-endian Unix nanoseconds and counters, so that keys sort by time.

#include "bytes.hpp"

#include "switchyard/engine/time.hpp"
#include "switchyard/engine/usage.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard::store {

inline constexpr std::size_t telemetry_key_size = 16;

/// Times before 1970 sort as 1970: no clock that can be trusted shows one.
inline std::string telemetry_key(wall_time time, std::uint64_t sequence) {
  std::string key;
  key.reserve(telemetry_key_size);
  byte_writer w(key);
  w.u64(static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.time_since_epoch().count())));
  w.u64(sequence);
  return key;
}

/// The time in a telemetry key; nothing when it is not one.
inline std::optional<wall_time> time_of_telemetry_key(std::string_view key) noexcept {
  byte_reader in(key);
  auto ns = in.u64();
  in.u64();
  if (!in.done() || ns > static_cast<std::uint64_t>(wall_time::max().time_since_epoch().count()))
    return std::nullopt;
  return wall_time(duration(static_cast<std::int64_t>(ns)));
}

inline std::string usage_key_text(const usage_key& u) {
  std::string key;
  byte_writer w(key);
  w.u64(static_cast<std::uint64_t>(std::max<std::int64_t>(0, u.hour.time_since_epoch().count())));
  for (const auto* part : {&u.tenant, &u.route, &u.provider, &u.model})
    w.text(*part);
  return key;
}

/// Nothing when it is not one.
inline std::optional<usage_key> parse_usage_key(std::string_view key) {
  byte_reader in(key);
  usage_key u;
  const auto ns = in.u64();
  for (auto* part : {&u.tenant, &u.route, &u.provider, &u.model})
    *part = in.text();
  if (!in.done() || ns > static_cast<std::uint64_t>(wall_time::max().time_since_epoch().count()))
    return std::nullopt;
  u.hour = wall_time(duration(static_cast<std::int64_t>(ns)));
  return u;
}

inline std::string index_prefix(std::string_view name) {
  std::string prefix(name);
  prefix.push_back('\0');
  return prefix;
}

inline std::string index_key(std::string_view name, std::string_view key) {
  return index_prefix(name).append(key);
}

/// The telemetry key at the end of an index key; empty when it is not one.
inline std::string_view telemetry_key_of_index(std::string_view index) noexcept {
  if (index.size() <= telemetry_key_size)
    return {};
  return index.substr(index.size() - telemetry_key_size);
}

/// The time that lies `length` >= 0 before `now`, or the earliest there is.
inline wall_time before(wall_time now, duration length) noexcept {
  return now < wall_time::min() + length ? wall_time::min() : now - length;
}

/// The time that lies `length` >= 0 after `now`, or the latest there is.
inline wall_time after(wall_time now, duration length) noexcept {
  return now > wall_time::max() - length ? wall_time::max() : now + length;
}

} // namespace switchyard::store
