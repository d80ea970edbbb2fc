#include "certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <stdlib.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>

namespace switchyard::http::test {

namespace {

constexpr long day = 24 * 60 * 60;

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (!extension)
    throw std::runtime_error("bad extension " + value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

identity make(const std::string& name, const identity* issuer, int days, bool authority, const std::string& subject) {
  static std::atomic<long> serial{1};
  identity made;
  made.key.reset(EVP_EC_gen("P-256"), EVP_PKEY_free);
  made.certificate.reset(X509_new(), X509_free);
  auto* x = made.certificate.get();
  X509_set_version(x, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
  X509_gmtime_adj(X509_getm_notBefore(x), -10 * day);
  X509_gmtime_adj(X509_getm_notAfter(x), days * day);
  X509_set_pubkey(x, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  auto* signer = issuer ? issuer->certificate.get() : x;
  X509_set_issuer_name(x, X509_get_subject_name(signer));
  add_extension(x, signer, NID_basic_constraints, authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!subject.empty())
    add_extension(x, signer, NID_subject_alt_name, subject);
  if (!X509_sign(x, (issuer ? issuer->key : made.key).get(), EVP_sha256()))
    throw std::runtime_error("cannot sign");
  return made;
}

} // namespace

identity make_authority(const identity* issuer) {
  return make(issuer ? "Test intermediate CA" : "Test CA", issuer, 1, true, "");
}

identity make_identity(const std::string& subject, const identity* issuer, int days) {
  return make("server", issuer, days, false, subject);
}

std::shared_ptr<SSL_CTX> server_context(const identity& who) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX_use_certificate(context.get(), who.certificate.get());
  SSL_CTX_use_PrivateKey(context.get(), who.key.get());
  return context;
}

pem_file::pem_file(const identity& who) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path().c_str(), "w"), std::fclose);
  if (!file || !PEM_write_X509(file.get(), who.certificate.get()))
    throw std::runtime_error("cannot write " + path());
}

} // namespace switchyard::http::test
