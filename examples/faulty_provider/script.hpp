#pragma once

// What the provider is told to do: a script, read from JSON and written back to JSON.

#include "latency_script.hpp"
#include "stream_script.hpp"

#include <boost/json/value.hpp>
#include <boost/system/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace faulty {

/// Answers of one error status, at a rate in [0,1].
struct error_script {
  int status = 500;
  double rate = 0;
  std::optional<duration> retry_after{};
  std::string code{};    ///< of the error object; null when empty
  std::string message{}; ///< of the error object; a default when empty
};

/// Ways to fail without an error status.
enum class fault : std::uint8_t {
  reset,
  silence,
  empty_body,
  malformed_body,
  no_content,
  error_in_200,
  close_without_answer,
};
inline constexpr std::array<std::string_view, 7> fault_names{
    "reset", "silence", "empty_body", "malformed_body", "no_content", "error_in_200", "close_without_answer"};
using fault_rates = std::array<double, fault_names.size()>;

enum class outage_kind : std::uint8_t { reset, silence, status };
inline constexpr std::array<std::string_view, 3> outage_kind_names{"reset", "silence", "status"};

/// What every request meets while the provider is down.
struct outage {
  outage_kind kind = outage_kind::status;
  int status = 503;                      ///< kind status only
  std::optional<duration> retry_after{}; ///< kind status only
};

struct scheduled_outage {
  duration after{};                 ///< since the script was loaded
  std::optional<duration> length{}; ///< for ever when absent
  std::optional<duration> every{};  ///< once when absent; longer than `length`
  outage what{};
};

struct script {
  latency_script latency;
  std::vector<error_script> errors;
  fault_rates faults{};
  std::vector<scheduled_outage> outages;
  std::vector<std::string> models; ///< other models get 404; empty: any model is served
  stream_script stream;
};

/// What is wrong with a script and where.
struct script_error {
  std::string pointer;   ///< JSON pointer; empty for the whole document
  std::string value;     ///< as JSON, shortened; empty for a syntax error
  std::string message{}; ///< what is accepted
};

using script_errors = std::vector<script_error>;

/// Reads a script: JSON with comments and trailing commas, every key optional, unknown ones refused. Fails with all
/// errors at once.
boost::system::result<script, script_errors> read_script(std::string_view text);

/// Reads an outage as POST /control/down takes it; an empty text is the default, status 503.
boost::system::result<outage, script_errors> read_outage(std::string_view text);

boost::json::value to_json(const script& s);
boost::json::value to_json(const latency_script& l);
boost::json::value to_json(const stream_script& s);
boost::json::value to_json(const outage& o);

/// "/latency/mean: "fast": ..." in one line.
std::string to_string(const script_error& e);

} // namespace faulty
