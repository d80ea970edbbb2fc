// The program with HTTPS on its data plane.

#include "gateway_process.hpp"

#include "adapters/http/server/tls_fixture.hpp"

#include <signal.h>

#include <array>

using namespace switchyard::gateway::test;
using switchyard::http::test::client_context;
using switchyard::http::test::identity;
using switchyard::http::test::make_authority;
using switchyard::http::test::make_identity;
using switchyard::http::test::pem_folder;

namespace {

std::string config_with(const std::string& certificate, const std::string& key) {
  return R"({
  "providers": { "alpha": { "base_url": "http://127.0.0.1:9/v1" } },
  "routes": { "chat": { "provider": "alpha", "model": "m" } },
  "gateway": { "listen": "127.0.0.1:0", "tls": { "certificate": ")" +
         certificate + R"(", "key": ")" + key + R"(" } }, "admin": { "listen": "127.0.0.1:0" } })";
}

} // namespace

TEST_CASE("with gateway.tls the data plane speaks HTTPS, tells plain HTTP so, and drains") {
  temp_dir folder;
  const pem_folder files;
  const auto root = make_authority();
  const auto own = make_identity("IP:127.0.0.1", &root);
  const auto config =
      folder.write("a.json", config_with(files.write_chain("c.pem", {&own}), files.write_key("k.pem", own)));
  gateway_process p{folder, {"--config", config, "--data-dir", (folder.path() / "data").string()}};
  p.wait_ready();
  CHECK(folder.read("out.log").starts_with("ready gateway=https://127.0.0.1:"));
  CHECK(folder.read("out.log").find(" admin=http://127.0.0.1:") != std::string::npos);
  auto c = p.client();
  REQUIRE(c.secure(client_context(root).get()));
  REQUIRE(c.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"));
  CHECK(c.receive().status == 200);
  auto plain = p.client();
  REQUIRE(plain.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto told = plain.receive();
  CHECK(told.status == 400);
  CHECK(told.body.find("https://") != std::string::npos);
  CHECK(told.body.find("\"invalid_request\"") != std::string::npos);
  p.signal(SIGTERM);
  CHECK(p.wait_end() == 0);
  CHECK(c.receive_all().empty());
  CHECK_FALSE(c.is_reset());
}

TEST_CASE("a certificate or key that cannot be used ends with 2 and says which and why, with --check too") {
  temp_dir folder;
  const pem_folder files;
  const auto own = make_identity("IP:127.0.0.1", nullptr), other = make_identity("IP:127.0.0.1", nullptr);
  const auto certificate = files.write_chain("c.pem", {&own}), strange = files.write_key("strange.pem", other);
  const auto text = files.write("text.pem", "no PEM\n"), locked = files.write_key("locked.pem", own, "open sesame");
  for (const auto& [cert, key, part] :
       std::vector<std::array<std::string, 3>>{{certificate, strange, "does not belong to the certificate"},
                                               {text, strange, "the certificate cannot be loaded from " + text},
                                               {certificate, text, "the key cannot be loaded from " + text},
                                               {certificate, locked, "passphrase"},
                                               {certificate, files.at("none.pem"), "/gateway/tls/key"}}) {
    const auto config = folder.write("a.json", config_with(cert, key));
    for (const bool only_check : {false, true}) {
      std::vector<std::string> arguments{"--config", config, "--data-dir", (folder.path() / "data").string()};
      if (only_check)
        arguments.emplace_back("--check");
      gateway_process p{folder, arguments};
      CHECK(p.wait_end() == 2);
      const auto said = folder.read("err.log");
      INFO(said);
      CHECK(said.find(config) != std::string::npos);
      CHECK(said.find("/gateway/tls") != std::string::npos);
      CHECK(said.find(part) != std::string::npos);
      CHECK(folder.read("out.log").empty());
      CHECK_FALSE(std::filesystem::exists(folder.path() / "data"));
    }
  }
}
