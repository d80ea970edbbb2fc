#pragma once

#include "switchyard/engine/settings.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::gateway {

/// Finds the tenant of an Authorization header. Keys are compared by digest and in constant time: neither how much of a
/// key was right nor which tenant came close can be told from the time it takes.
class tenants {
public:
  explicit tenants(const std::map<std::string, tenant_settings>& configured);

  /// Whether a key is needed at all.
  bool required() const noexcept { return !known_.empty(); }

  /// The tenant's name; nothing for a missing, malformed or unknown key.
  std::optional<std::string> find(std::string_view authorization) const;

private:
  using digest = std::array<unsigned char, 32>;
  static digest digest_of(std::string_view key);

  struct known {
    std::string name;
    digest key;
  };
  std::vector<known> known_;
};

} // namespace switchyard::gateway
