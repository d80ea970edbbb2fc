#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace switchyard {

/// A text that must not reach logs, errors, metrics or telemetry. It has no stream operator and no implicit
/// conversion: only `reveal` shows it, which makes every use easy to find.
class secret {
public:
  secret() = default;
  explicit secret(std::string value) : value_(std::move(value)) {}

  bool empty() const noexcept { return value_.empty(); }

  /// The text itself, for the wire or a comparison.
  std::string_view reveal() const noexcept { return value_; }

  /// For settings that both come from the configuration. What a stranger sent is compared in constant time instead.
  friend bool operator==(const secret&, const secret&) = default;

private:
  std::string value_;
};

} // namespace switchyard
