#pragma once

#include <compare>
#include <string>

namespace switchyard {

/// Identity of a circuit [C12]: provider, provider/model or provider/model/region.
struct circuit_id {
  std::string provider;
  std::string model;  ///< empty at scope provider
  std::string region; ///< empty at scopes provider and model
  /// `/` and `%` inside a part percent-encoded, parts joined by `/`.
  std::string str() const;
  friend auto operator<=>(const circuit_id&, const circuit_id&) = default;
};

} // namespace switchyard
