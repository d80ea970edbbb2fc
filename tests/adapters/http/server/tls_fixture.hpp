#pragma once

// A server with a certificate of the test's own, and clients that trust its authority.

#include "../client/certificates.hpp"
#include "fixture.hpp"
#include "support/temp_dir.hpp"

#include <openssl/pem.h>

#include <cstdio>
#include <filesystem>
#include <stdlib.h>
#include <string_view>
#include <vector>

namespace switchyard::http::test {

/// PEM files in a folder that goes with the object.
class pem_folder {
public:
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string write(const std::string& name, std::string_view text) const { return folder_.write(name, text); }
  /// The certificates one after the other, as a chain.
  std::string write_chain(const std::string& name, const std::vector<const identity*>& chain) const {
    const auto file = open(name);
    for (const auto* link : chain)
      PEM_write_X509(file.get(), link->certificate.get());
    return at(name);
  }
  std::string write_key(const std::string& name, const identity& who, const char* passphrase = nullptr) const {
    const auto file = open(name);
    PEM_write_PrivateKey(file.get(), who.key.get(), passphrase ? EVP_aes_128_cbc() : nullptr, nullptr, 0, nullptr,
                         const_cast<char*>(passphrase));
    return at(name);
  }

private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> open(const std::string& name) const {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(at(name).c_str(), "w"), std::fclose);
    if (!file)
      throw std::runtime_error("cannot write " + at(name));
    return file;
  }
  switchyard::test::temp_dir folder_;
};

inline std::shared_ptr<SSL_CTX> client_context(const identity& trusted, int version = 0) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), trusted.certificate.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_min_proto_version(context.get(), version);
  SSL_CTX_set_max_proto_version(context.get(), version);
  return context;
}

/// Options with a certificate for 127.0.0.1, and what a client needs to trust it.
struct trusted_server {
  identity root = make_authority();
  identity own = make_identity("IP:127.0.0.1", &root);
  pem_folder files;
  server_options options;
  std::shared_ptr<SSL_CTX> client = client_context(root);

  trusted_server() {
    auto loaded = load_server_tls(files.write_chain("cert.pem", {&own}), files.write_key("key.pem", own));
    if (!loaded)
      throw std::runtime_error(loaded.error());
    options.tls = *loaded;
  }

  /// A client whose handshake is done.
  raw_client connect(const running_server& s, int receive_buffer = 0) const {
    auto c = s.client(receive_buffer);
    if (!c.secure(client.get()))
      throw std::runtime_error("the handshake failed");
    return c;
  }

  /// What a client says first.
  std::string greeting() const {
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(client.get()), SSL_free);
    auto* const out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
    SSL_set_connect_state(ssl.get());
    SSL_do_handshake(ssl.get());
    const char* bytes = nullptr;
    const auto size = BIO_get_mem_data(out, &bytes);
    return {bytes, static_cast<std::size_t>(size)};
  }
};

inline std::string post(std::string_view body) {
  return "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

/// Whether a request of its own is served.
inline bool serves(const trusted_server& t, const running_server& s) {
  auto c = t.connect(s);
  return c.send(simple_get) && c.receive().status == 200;
}

} // namespace switchyard::http::test
