#pragma once

// What is written down of a request [H4]. No prompt, answer, key or message text.

#include "switchyard/engine/failure.hpp"
#include "switchyard/engine/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace switchyard {

struct token_usage {
  std::optional<std::uint64_t> input, output;
  bool estimated = false; ///< not the provider's figures [S6]
};

/// One attempt on the wire.
struct attempt_row {
  wall_time time{}; ///< when it began
  std::string route, provider, model, region;
  std::string circuit; ///< id; empty without a circuit
  bool success = false;
  std::optional<failure_class> failure; ///< absent for a success
  std::optional<int> status;            ///< absent without an HTTP answer
  duration latency{};
  std::optional<duration> time_to_first_token; ///< streams only
  bool outcome_unknown = false;                ///< sent, and its answer lost: may have been charged [R6]
  token_usage tokens;
};

/// One request, whoever answered it.
struct request_row {
  std::string request_id;
  wall_time time{};      ///< when it began
  std::string operation; ///< path, e.g. "/v1/chat/completions"
  std::string tenant;    ///< empty without tenants
  std::string requested_route;
  std::string route, provider, model, region; ///< who served; empty when nobody did
  bool success = false;
  std::optional<failure_class> failure;
  std::string code;          ///< code of Switchyard's own error, empty otherwise
  std::optional<int> status; ///< what the client got
  duration latency{};
  std::optional<duration> time_to_first_token;
  std::uint32_t attempts = 0;
  std::uint32_t fallbacks = 0;
  bool replayed = false, cached = false, interrupted = false, outcome_unknown = false;
  token_usage tokens;
  std::optional<double> cost; ///< absent when a price is unknown [U2]
};

/// A request with its attempts: what goes to the log at once.
struct telemetry_record {
  request_row request;
  std::vector<attempt_row> attempts;
};

} // namespace switchyard
