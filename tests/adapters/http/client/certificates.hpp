#pragma once

// Certificates made at run time.

#include <openssl/ssl.h>

#include <filesystem>
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
  ~pem_file();
  pem_file(const pem_file&) = delete;
  pem_file& operator=(const pem_file&) = delete;
  std::string path() const { return (folder_ / "ca.pem").string(); }

private:
  std::filesystem::path folder_;
};

} // namespace switchyard::http::test
