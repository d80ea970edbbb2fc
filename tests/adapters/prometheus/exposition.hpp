#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::metrics::test {

using labels = std::map<std::string, std::string>;

struct sample {
  std::string name;
  labels with;
  double value = 0;
};

/// A text exposition, read by the letter of the format's description. Whatever is not allowed is in `errors`.
struct exposition {
  std::map<std::string, std::string> types; ///< by family
  std::map<std::string, std::string> helps;
  std::vector<std::string> families; ///< in order
  std::vector<sample> samples;
  std::vector<std::string> errors;

  /// The sum of the series of that name with at least these labels; nothing when there is none.
  std::optional<double> value(std::string_view name, const labels& with = {}) const;
  std::size_t series(std::string_view name) const;
};

exposition read_exposition(const std::string& text);

} // namespace switchyard::metrics::test
