#pragma once

#include "switchyard/actors/problem_log.hpp"
#include "switchyard/http/server.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace switchyard::gateway {

/// Logs the requests that end with 500 `internal`: why, which is not for their clients, and which one it was.
/// Thread-safe.
class internal_errors {
public:
  /// Does nothing with any other refusal. `whose` names the request, as by its id.
  void report(const services& to, const http::refusal& refused, std::string_view whose) {
    if (refused.code != "internal")
      return;
    std::string text{refused.message};
    if (!refused.cause.empty())
      text.append(": ").append(refused.cause);
    problems_.report(to, std::chrono::steady_clock::now(), refused.code, text.append(", ").append(whose));
  }

private:
  problem_log problems_;
};

} // namespace switchyard::gateway
