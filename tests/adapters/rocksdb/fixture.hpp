#pragma once

#include "switchyard/rocksdb/database.hpp"

#include "open_hooks.hpp"
#include "support/temp_dir.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <stdexcept>
#include <string>

namespace switchyard {

/// Lets Catch2 show why a result is none.
inline std::ostream& operator<<(std::ostream& out, const store_error& e) {
  return out << e.message;
}

} // namespace switchyard

namespace switchyard::store::test {

using switchyard::test::temp_dir;

/// 2024-01-01T00:00:00Z.
inline constexpr wall_time epoch{std::chrono::seconds(1'704'067'200)};

/// Options with a clock that stands at `*now`.
inline options with_clock(const wall_time* now) {
  options o;
  o.clock = [now] { return *now; };
  return o;
}

inline attempt_row make_attempt(wall_time time, std::string provider, bool success = true) {
  attempt_row a;
  a.time = time;
  a.provider = std::move(provider);
  a.route = "chat";
  a.model = "m";
  a.success = success;
  a.latency = 200ms;
  if (!success)
    a.failure = failure_class::server_error;
  a.status = success ? 200 : 500;
  return a;
}

/// A request served by `provider` in one attempt.
inline telemetry_record make_record(std::string id, wall_time time, std::string provider = "alpha") {
  telemetry_record r;
  r.request.request_id = std::move(id);
  r.request.time = time;
  r.request.operation = "/v1/chat/completions";
  r.request.route = r.request.requested_route = "chat";
  r.request.provider = provider;
  r.request.success = true;
  r.request.status = 200;
  r.request.attempts = 1;
  r.attempts.push_back(make_attempt(time + 1ms, std::move(provider)));
  return r;
}

inline store_result<void> append(telemetry_log& log, const std::vector<telemetry_record>& records) {
  std::vector<std::shared_ptr<const telemetry_record>> batch;
  usage_sums usage;
  for (const auto& r : records) {
    batch.push_back(std::make_shared<const telemetry_record>(r));
    usage.add(r.request);
  }
  return log.append(batch, usage);
}

inline stored_answer make_answer(std::string body, wall_time stored_at = epoch, duration ttl = 24h) {
  stored_answer a;
  a.fingerprint.fill(7);
  a.status = 201;
  a.content_type = "application/json";
  a.body = std::move(body);
  a.stored_at = stored_at;
  a.ttl = ttl;
  return a;
}

/// Every file below a directory with its bytes.
inline std::map<std::string, std::string> contents_of(const std::filesystem::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& e : std::filesystem::recursive_directory_iterator(directory))
    if (e.is_regular_file()) {
      std::ifstream in(e.path(), std::ios::binary);
      files[e.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
    }
  return files;
}

inline void overwrite(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

/// The file of the store whose name begins and ends so.
inline std::filesystem::path find_file(const std::filesystem::path& directory, std::string_view begin,
                                       std::string_view end = "") {
  for (const auto& e : std::filesystem::directory_iterator(directory))
    if (auto name = e.path().filename().string(); name.starts_with(begin) && name.ends_with(end))
      return e.path();
  throw std::runtime_error("no such file in the store");
}

} // namespace switchyard::store::test
