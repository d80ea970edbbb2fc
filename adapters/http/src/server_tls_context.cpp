// What all connections with TLS share, and how it is loaded.

#include "server_tls.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <cstdio>
#include <memory>

namespace switchyard::http {

namespace {

// The first of OpenSSL's reasons, of which the others follow; they name algorithms and formats, never contents.
std::string reason() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(code))
    return std::generic_category().message(ERR_GET_REASON(code));
  if (code != 0 && ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE)
    return "there is none in it in PEM format";
  // What its decoders say of all that they cannot read as a key, be it empty, cut or something else.
  if (code != 0 && ERR_GET_LIB(code) == ERR_LIB_OSSL_DECODER && ERR_GET_REASON(code) == ERR_R_UNSUPPORTED)
    return "there is no PEM private key in it, or not a whole one";
  const auto* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "no reason given" : text;
}

// Without it OpenSSL would ask on the terminal.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

using key_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

boost::system::result<key_ptr, std::string> read_key(const std::string& file) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio{BIO_new_file(file.c_str(), "r"), BIO_free};
  bool encrypted = false;
  key_ptr key{bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, &encrypted) : nullptr, EVP_PKEY_free};
  if (key)
    return key;
  const auto why = reason();
  return "the key cannot be loaded from " + file + ": " +
         (encrypted ? "it is encrypted with a passphrase, which nobody could enter; store it decrypted" : why);
}

// A client that offers protocols and not this one is told so in the handshake (RFC 7301 3.2).
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  static constexpr unsigned char ours[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, ours, sizeof ours - 1, offered, offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

} // namespace

boost::system::result<std::shared_ptr<const server_tls>, std::string>
load_server_tls(const std::string& certificate_file, const std::string& key_file) {
  using result = boost::system::result<std::shared_ptr<const server_tls>, std::string>;
  ERR_clear_error();
  const auto tls = std::make_shared<const server_tls>(SSL_CTX_new(TLS_server_method()));
  auto* const context = tls->context();
  if (context == nullptr)
    return result{boost::system::in_place_error, "TLS cannot be set up: " + reason()};
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  // Sessions are resumed by tickets, which the clients keep: nothing grows here.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1); // one receive for each record, not two
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1)
    return result{boost::system::in_place_error,
                  "the certificate cannot be loaded from " + certificate_file + ": " + reason()};
  auto key = read_key(key_file);
  if (!key)
    return result{boost::system::in_place_error, key.error()};
  if (SSL_CTX_use_PrivateKey(context, key->get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return result{boost::system::in_place_error,
                  "the key of " + key_file + " does not belong to the certificate of " + certificate_file};
  return result{tls};
}

} // namespace switchyard::http
