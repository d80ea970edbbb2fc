#include "switchyard/engine/validate.hpp"

#include <functional>

namespace switchyard {
namespace {

using report = std::function<void(std::string pointer, std::string value)>;

/// A feature that this version lacks, and where a configuration asks for it.
struct missing_feature {
  std::string_view what;
  void (*find)(const config& settings, const report& found);
};

void find_cluster(const config& settings, const report& found) {
  if (settings.cluster)
    found("/cluster", "{...}");
}

/// A later version that brings a feature deletes its row.
constexpr missing_feature missing_features[] = {
    {"a cluster", find_cluster},
};

} // namespace

std::vector<setting_problem> unavailable_features(const config& settings) {
  std::vector<setting_problem> problems;
  for (const auto& feature : missing_features) {
    feature.find(settings, [&](std::string pointer, std::string value) {
      problems.push_back(
          {std::move(pointer), std::move(value), std::string(feature.what) + " is not available in this version"});
    });
  }
  return problems;
}

} // namespace switchyard
