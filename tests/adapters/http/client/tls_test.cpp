// Connections with TLS: who is trusted, and that the rest is as without.

#include "certificates.hpp"
#include "fixture.hpp"

namespace switchyard::http::test {

namespace {

/// A script behind a handshake.
script behind_tls(const identity& who, script s) {
  return [context = server_context(who), s = std::move(s)](peer& p) {
    if (p.secure(context.get()))
      s(p);
  };
}

/// The result of a call to a server that is `who`, by a client that trusts `ca`.
provider_result call_tls(const identity& who, const identity& ca, const std::string& host = "127.0.0.1") {
  std::atomic<int> requests{0};
  scripted_server server(behind_tls(who, [&](peer& p) {
    while (p.read_request()) {
      ++requests;
      p.write(answer_with("safe"));
    }
  }));
  pem_file file(ca);
  fixture f("https://" + host + ":" + std::to_string(server.port()));
  f.settings.tls_ca = file.path();
  f.settings.api_key = secret("hunter2");
  auto r = f.call();
  CHECK(requests == (r.error ? 0 : 1));
  CHECK(r.error_detail.find("hunter2") == std::string::npos);
  CHECK(r.sent == !r.error);
  return r;
}

} // namespace

TEST_CASE("a trusted certificate for the address or the name is accepted") {
  const auto ca = make_authority();
  CHECK(call_tls(make_identity("IP:127.0.0.1", &ca), ca).body == "safe");
  CHECK(call_tls(make_identity("DNS:localhost", &ca), ca, "localhost").body == "safe");
}

TEST_CASE("a certificate that cannot be trusted is refused before anything is sent") {
  const auto ca = make_authority(), other = make_authority();
  struct bad {
    identity who;
    std::string host, detail;
  };
  const std::vector<bad> cases{
      {make_identity("IP:127.0.0.1", nullptr), "127.0.0.1", "self-signed certificate"},
      {make_identity("IP:127.0.0.1", &other), "127.0.0.1", "certificate"},
      {make_identity("IP:127.0.0.1", &ca, -1), "127.0.0.1", "certificate has expired"},
      {make_identity("IP:127.0.0.2", &ca), "127.0.0.1", "hostname mismatch"},
      {make_identity("DNS:elsewhere", &ca), "localhost", "hostname mismatch"},
      {make_identity("DNS:127.0.0.1", &ca), "127.0.0.1", "hostname mismatch"},
  };
  for (const auto& c : cases) {
    const auto r = call_tls(c.who, ca, c.host);
    CAPTURE(r.error_detail);
    CHECK(r.error == transport_error::tls);
    CHECK_THAT(r.error_detail,
               Catch::Matchers::Contains("certificate verify failed (") && Catch::Matchers::Contains(c.detail));
  }
}

TEST_CASE("the system's certificates do not trust a stranger") {
  const auto ca = make_authority();
  scripted_server server(behind_tls(make_identity("IP:127.0.0.1", &ca), echo));
  fixture f(server.url("https"));
  CHECK(f.call().error == transport_error::tls);
}

TEST_CASE("TLS older than 1.2 is refused") {
  const auto ca = make_authority();
  const auto context = server_context(make_identity("IP:127.0.0.1", &ca));
  SSL_CTX_set_security_level(context.get(), 0);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context.get(), TLS1_1_VERSION);
  scripted_server server([&](peer& p) { CHECK_FALSE(p.secure(context.get())); });
  pem_file file(ca);
  fixture f(server.url("https"));
  f.settings.tls_ca = file.path();
  CHECK(f.call().error == transport_error::tls);
}

TEST_CASE("a server without TLS is refused by https") {
  scripted_server server([](peer& p) {
    p.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    p.sees_end();
  });
  fixture f(server.url("https"));
  const auto r = f.call();
  CHECK(r.error == transport_error::tls);
  CHECK(!r.error_detail.empty());
  CHECK(!r.sent);
}

TEST_CASE("a server with TLS is malformed to http, or lost") {
  const auto ca = make_authority();
  scripted_server server(behind_tls(make_identity("IP:127.0.0.1", &ca), echo));
  fixture f(server.url("http"));
  CHECK(f.call().error.has_value());
}

TEST_CASE("a handshake that the server gives up is a failure with nothing sent") {
  scripted_server server([](peer& p) { p.close(); });
  fixture f(server.url("https"));
  const auto r = f.call();
  CHECK((r.error == transport_error::tls || r.error == transport_error::reset));
  CHECK(!r.sent);
}

TEST_CASE("with TLS, connections are kept, replaced, and large bodies whole [R7]") {
  const auto ca = make_authority();
  const int version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
  const auto context = server_context(make_identity("IP:127.0.0.1", &ca));
  SSL_CTX_set_min_proto_version(context.get(), version);
  SSL_CTX_set_max_proto_version(context.get(), version);
  std::promise<void> closed;
  scripted_server server([&](peer& p) {
    if (!p.secure(context.get()))
      return;
    int n = 0;
    while (const auto request = p.read_request()) {
      p.write(answer_with(request->substr(request->find("\r\n\r\n") + 4)));
      if (p.number() == 0 && ++n == 3) {
        p.close();
        closed.set_value();
      }
    }
  });
  pem_file file(ca);
  fixture f(server.url("https"));
  f.settings.tls_ca = file.path();
  const std::string large(2'000'000, 'x');
  CHECK(f.call(request_with(large)).body == large);
  CHECK(f.call(request_with("small")).body == "small");
  CHECK(f.call(request_with(large)).body == large);
  CHECK(server.connections() == 1);
  closed.get_future().wait();
  CHECK(f.call(request_with("new")).body == "new");
  CHECK(server.connections() == 2);
}

TEST_CASE("with TLS, an answer until the end needs TLS's own end") {
  const auto ca = make_authority();
  const bool proper = GENERATE(true, false);
  scripted_server server(behind_tls(make_identity("IP:127.0.0.1", &ca), [&](peer& p) {
    p.read_request();
    p.write("HTTP/1.1 200 OK\r\n\r\nall of it?");
    if (!proper)
      p.cut();
  }));
  pem_file file(ca);
  fixture f(server.url("https"));
  f.settings.tls_ca = file.path();
  const auto r = f.call();
  if (proper)
    CHECK(r.body == "all of it?");
  else
    CHECK(r.error == transport_error::early_close);
}

TEST_CASE("with TLS, time limits and cancels close the connection [F3]") {
  using namespace std::chrono_literals;
  const auto ca = make_authority();
  const bool by_cancel = GENERATE(true, false);
  std::promise<void> asked;
  std::promise<bool> ended;
  scripted_server server(behind_tls(make_identity("IP:127.0.0.1", &ca), [&](peer& p) {
    p.read_request();
    asked.set_value();
    ended.set_value(p.sees_end());
  }));
  pem_file file(ca);
  fixture f(server.url("https"));
  f.settings.tls_ca = file.path();
  if (!by_cancel)
    f.settings.timeouts.first_byte = 50ms;
  auto o = std::make_shared<outcome>();
  const auto handle = f.client().start(request_with("{}"), o);
  asked.get_future().wait();
  if (by_cancel)
    handle->cancel();
  else
    CHECK(o->get().error == transport_error::first_byte_timeout);
  CHECK(ended.get_future().get());
  CHECK(o->calls() == (by_cancel ? 0 : 1));
}

} // namespace switchyard::http::test
