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
  const auto token = bearer_token(authorization);
  if (!token)
    return std::nullopt;
  const auto given = digest_of(*token);
  const known* found = nullptr;
  for (const auto& k : known_)
    if (CRYPTO_memcmp(given.data(), k.key.data(), given.size()) == 0)
      found = &k;
  return found ? std::optional{found->name} : std::nullopt;
}

} // namespace switchyard::gateway
