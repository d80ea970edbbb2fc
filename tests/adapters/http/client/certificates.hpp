#pragma once

// Certificates made at run time.

#include "support/temp_dir.hpp"

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace switchyard::http::test {

struct identity {
  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<X509> certificate;
};

/// A certificate authority; with `issuer` an intermediate one.
identity make_authority(const identity* issuer = nullptr);

/// A certificate for a name or an address ("DNS:localhost", "IP:127.0.0.1"), signed by `issuer`, or by itself.
/// Its time ends `days` from now, which may be negative.
identity make_identity(const std::string& subject, const identity* issuer, int days = 1);

/// What a server needs to be it.
std::shared_ptr<SSL_CTX> server_context(const identity& who);

/// A PEM file that goes with the object.
class pem_file {
public:
  explicit pem_file(const identity& who);
  std::string path() const { return (folder_.path() / "ca.pem").string(); }

private:
  switchyard::test::temp_dir folder_;
};

} // namespace switchyard::http::test
