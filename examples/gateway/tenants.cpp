#include "tenants.hpp"

#include "switchyard/engine/header_list.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

namespace switchyard::gateway {

tenants::tenants(const std::map<std::string, tenant_settings>& configured) {
  for (const auto& [name, settings] : configured)
    known_.push_back({name, digest_of(settings.key.reveal())});
}

tenants::digest tenants::digest_of(std::string_view key) {
  digest d{};
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), d.data());
  return d;
}

std::optional<std::string> tenants::find(std::string_view authorization) const {
  // The scheme's name has no case (RFC 9110 11.1).
  constexpr std::string_view scheme = "Bearer ";
  if (authorization.size() <= scheme.size() || authorization[scheme.size() - 1] != ' ' ||
      !same_field_name(authorization.substr(0, scheme.size() - 1), scheme.substr(0, scheme.size() - 1)))
    return std::nullopt;
  const auto given = digest_of(authorization.substr(scheme.size()));
  const known* found = nullptr;
  for (const auto& k : known_)
    if (CRYPTO_memcmp(given.data(), k.key.data(), given.size()) == 0)
      found = &k;
  return found ? std::optional{found->name} : std::nullopt;
}

} // namespace switchyard::gateway
