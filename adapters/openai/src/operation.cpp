#include "switchyard/openai/body.hpp"

#include <array>

namespace switchyard::openai {
namespace {

constexpr std::string_view version = "/v1";

// In the order of the enumerators.
constexpr std::array<std::string_view, 4> paths{"/chat/completions", "/completions", "/embeddings", "/responses"};

} // namespace

std::optional<operation> operation_of(std::string_view path) noexcept {
  if (!path.starts_with(version))
    return std::nullopt;
  path.remove_prefix(version.size());
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (path == paths[i])
      return static_cast<operation>(i);
  return std::nullopt;
}

std::string_view provider_path(operation op) noexcept {
  return paths[static_cast<std::size_t>(op)];
}

} // namespace switchyard::openai
