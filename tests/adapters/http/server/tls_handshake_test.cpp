// Connections with TLS: certificates and the handshake.

#include "tls_fixture.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <string>

using namespace switchyard;
using namespace switchyard::http;
using namespace switchyard::http::test;

namespace {

std::string failure(const std::string& certificate, const std::string& key) {
  auto loaded = load_server_tls(certificate, key);
  return loaded ? "loaded" : loaded.error();
}

bool has(const std::string& text, std::string_view part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("requests are answered on one connection over TLS 1.2 and 1.3, by the protocol the client asked for") {
  trusted_server t;
  running_server s(echo, t.options);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto context = client_context(t.root, version);
    constexpr unsigned char offered[] = "\x02h2\x08http/1.1";
    SSL_CTX_set_alpn_protos(context.get(), offered, sizeof offered - 1);
    auto c = s.client();
    REQUIRE(c.secure(context.get()));
    CHECK(SSL_version(c.tls()) == version);
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(c.tls(), &chosen, &size);
    CHECK(std::string(reinterpret_cast<const char*>(chosen), size) == "http/1.1");
    for (int i = 0; i < 3; ++i) {
      REQUIRE(c.send(post("xyz")));
      CHECK(c.receive().body == "POST /? xyz");
    }
    CHECK(s.server->connections() == 1);
    REQUIRE(c.end_tls());
    CHECK(s.connections_become(0));
  }
}

TEST_CASE("TLS older than 1.2 and a client that speaks only another protocol are refused") {
  trusted_server t;
  running_server s(echo, t.options);
  const auto old = client_context(t.root, TLS1_1_VERSION);
  SSL_CTX_set_security_level(old.get(), 0);
  CHECK_FALSE(s.client().secure(old.get()));
  const auto other = client_context(t.root);
  constexpr unsigned char offered[] = "\x02h2";
  SSL_CTX_set_alpn_protos(other.get(), offered, sizeof offered - 1);
  CHECK_FALSE(s.client().secure(other.get()));
  CHECK(ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL); // the alert came through
  CHECK(s.connections_become(0));
  CHECK(serves(t, s));
}

TEST_CASE("a chain with an intermediate certificate is sent whole") {
  trusted_server t;
  const auto middle = make_authority(&t.root);
  const auto leaf = make_identity("IP:127.0.0.1", &middle);
  auto loaded =
      load_server_tls(t.files.write_chain("chain.pem", {&leaf, &middle}), t.files.write_key("leaf.pem", leaf));
  REQUIRE(loaded);
  t.options.tls = *loaded;
  running_server s(echo, t.options);
  CHECK(serves(t, s)); // a client that trusts only the root
}

TEST_CASE("a certificate or key that cannot be used is an error that names its file and the reason") {
  trusted_server t;
  const auto other = make_identity("IP:127.0.0.1", &t.root);
  const auto certificate = t.files.at("cert.pem"), key = t.files.at("key.pem");
  const auto missing = t.files.at("none.pem");
  CHECK(has(failure(missing, key), "the certificate cannot be loaded from " + missing + ": No such file"));
  CHECK(has(failure(certificate, missing), "the key cannot be loaded from " + missing + ": No such file"));
  CHECK(has(failure(certificate, t.files.at("")), "the key cannot be loaded from"));
  const auto text = t.files.write("text.pem", "no PEM\n");
  CHECK(has(failure(text, key), "the certificate cannot be loaded from " + text + ": there is none in it"));
  CHECK(failure(certificate, text) ==
        "the key cannot be loaded from " + text + ": there is no PEM private key in it, or not a whole one");
  CHECK(has(failure(key, certificate), "the certificate cannot be loaded from " + key));
  CHECK(has(failure(certificate, certificate), "the key cannot be loaded from " + certificate));
  const auto strange = t.files.write_key("other.pem", other);
  CHECK(failure(certificate, strange) ==
        "the key of " + strange + " does not belong to the certificate of " + certificate);
  const auto locked = t.files.write_key("locked.pem", t.own, "open sesame");
  CHECK(has(failure(certificate, locked), "passphrase"));
  const auto broken = t.files.write("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  CHECK(has(failure(broken, key), "the certificate cannot be loaded from " + broken));
  CHECK(failure(certificate, key) == "loaded");
}

TEST_CASE("a client that speaks plain HTTP to TLS is told so in plain HTTP, and disturbs nobody") {
  trusted_server t;
  running_server s(echo, t.options);
  auto other = t.connect(s);
  for (const auto* text : {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "PATCH / HTTP/1.1\r\n", "x"}) {
    auto c = s.client();
    REQUIRE(c.send(text));
    const auto got = c.receive();
    CHECK(got.status == 400);
    CHECK(got.body == "invalid_request");
    CHECK(c.receive_all().empty());
    CHECK_FALSE(c.is_reset());
  }
  REQUIRE(other.send(simple_get));
  CHECK(other.receive().status == 200);
}

TEST_CASE("a handshake that stalls is cut after its limit, and others are served meanwhile") {
  trusted_server t;
  t.options.header_timeout = 1s;
  running_server s(echo, t.options);
  const auto greeting = t.greeting();
  auto silent = s.client();
  auto halfway = s.client(), answered = s.client();
  REQUIRE(halfway.send(greeting.substr(0, greeting.size() / 2)));
  REQUIRE(answered.send(greeting));
  CHECK_FALSE(answered.take(1).empty());
  CHECK(serves(t, s));
  CHECK(silent.receive_all().empty());
  halfway.receive_all();
  answered.receive_all();
  CHECK(s.connections_become(0));
}

TEST_CASE("clients that leave amid the handshake leave nothing behind") {
  trusted_server t;
  t.options.header_timeout = 10min; // not what ends them
  running_server s(echo, t.options);
  const auto greeting = t.greeting();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{5}, greeting.size() / 2, greeting.size()}) {
    for (const bool by_reset : {false, true}) {
      auto c = s.client();
      REQUIRE(c.send(greeting.substr(0, size)));
      if (by_reset)
        c.reset();
      else
        c.finish_sending();
      CHECK(s.connections_become(0));
    }
  }
  CHECK(serves(t, s));
}

TEST_CASE("a broken handshake and a broken record end their connection") {
  trusted_server t;
  running_server s(echo, t.options);
  auto greeting = t.greeting();
  greeting[5] = 99; // no such message
  auto c = s.client();
  REQUIRE(c.send(greeting));
  CHECK_FALSE(c.receive_all().empty()); // an alert
  auto later = t.connect(s);
  REQUIRE(later.send(simple_get));
  CHECK(later.receive().status == 200);
  REQUIRE(BIO_write(SSL_get_wbio(later.tls()), "\x17\x03\x03\x00\x14nonsense nonsense no", 25) == 25);
  CHECK(later.receive_all().empty());
  CHECK(s.connections_become(0));
}
