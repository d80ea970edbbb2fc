#include "tenants.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using gateway::tenants;

namespace {

tenants two() {
  std::map<std::string, tenant_settings> configured;
  configured["acme"].key = secret{"key-of-acme"};
  configured["umbrella"].key = secret{"key-of-umbrella"};
  return tenants{configured};
}

} // namespace

TEST_CASE("without tenants no key is required, and none is known") {
  const tenants none{{}};
  CHECK_FALSE(none.required());
  CHECK_FALSE(none.find("Bearer anything"));
}

TEST_CASE("a key finds its tenant, whatever the case of the scheme") {
  const auto t = two();
  CHECK(t.required());
  CHECK(t.find("Bearer key-of-acme") == "acme");
  CHECK(t.find("bearer key-of-umbrella") == "umbrella");
  CHECK(t.find("BEARER key-of-acme") == "acme");
  CHECK(t.find("Bearer   key-of-acme") == "acme"); // one space or more
}

TEST_CASE("a missing, malformed or unknown key finds nobody") {
  const auto t = two();
  for (const auto* given : {"", "Bearer", "Bearer ", "Bearer key-of-acme ", "Bearer KEY-OF-ACME", "Bearer key-of-acm",
                            "Bearer key-of-acme2", "Bearer acme", "key-of-acme", "Basic key-of-acme",
                            "Bearerkey-of-acme", "Bearer\tkey-of-acme", "Bearer key-of-acme,key-of-umbrella"}) {
    INFO(given);
    CHECK_FALSE(t.find(given));
  }
}
