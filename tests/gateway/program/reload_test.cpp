// Another configuration for the running program, by SIGHUP and by the admin plane.

#include "crash/counting_provider.hpp"
#include "crash/retrying_clients.hpp"
#include "gateway_process.hpp"

#include "support/catch.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

using namespace switchyard;
using namespace switchyard::crash_test;
using namespace switchyard::gateway::test;
using http::test::answer;
using http::test::raw_client;

namespace {

constexpr const char* tenant_key = "the-key-of-acme";

class reloading_gateway {
public:
  reloading_gateway() {
    ::setenv("SWITCHYARD_TEST_ACME", tenant_key, 1);
    ::setenv("SWITCHYARD_TEST_OTHER", "the-key-of-another", 1);
    write(config());
    process.emplace(folder, std::vector<std::string>{"--config", path("switchyard.json"), "--data-dir", path("data")});
    process->wait_ready();
  }

  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  void write(const std::string& text) const { folder.write("switchyard.json", text); }

  std::string config(const std::string& routes = {}, const std::string& tenants = {}, const std::string& provider = "p",
                     int failures = 5, const std::string& more = {}, const std::string& gateway = {}) const {
    const auto url = R"({ "base_url": "http://)" + provider_.address() + R"(/v1", "circuit": "c" })";
    return R"({ "circuits": { "c": { "consecutive_failures": )" + std::to_string(failures) + R"( } },
      "providers": { "p": )" +
           url + R"(, "q": )" + url + R"( },
      "routes": { "chat": { "provider": ")" +
           provider + R"(", "model": "m" })" + routes + R"( },
      "gateway": { "listen": "127.0.0.1:0", "tenants": { "acme": { "key_env": "SWITCHYARD_TEST_ACME" })" +
           tenants + R"( })" + gateway + R"( },
      "admin": { "listen": "127.0.0.1:0" } )" +
           more + "}";
  }

  answer reload() const {
    raw_client c(process->admin_port());
    REQUIRE(c.send("POST /admin/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"));
    return c.receive();
  }
  void reload_by_signal() const {
    const auto before = count("reloaded ");
    process->signal(SIGHUP);
    REQUIRE(http::test::eventually([&] { return count("reloaded ") > before; }));
  }
  std::size_t count(const std::string& text) const {
    const auto log = folder.read("err.log");
    std::size_t n = 0;
    for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1))
      ++n;
    return n;
  }

  answer get(const std::string& target, const std::string& key = tenant_key) const {
    raw_client c(process->port());
    REQUIRE(c.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + key + "\r\n\r\n"));
    return c.receive();
  }

  temp_dir folder;
  std::optional<gateway_process> process;

private:
  counting_provider provider_{1};
};

} // namespace

TEST_CASE("routes and tenants of a changed file are in use after SIGHUP, and after POST /admin/reload") {
  reloading_gateway g;
  CHECK(g.get("/v1/models/more").status == 404);
  g.write(g.config(R"(, "more": { "provider": "q", "model": "m" })"));
  g.reload_by_signal();
  CHECK(g.get("/v1/models/more").status == 200);
  CHECK(g.get("/v1/models", "the-key-of-another").status == 401);
  g.write(g.config({}, R"(, "other": { "key_env": "SWITCHYARD_TEST_OTHER" })"));
  const auto taken = g.reload();
  CHECK(taken.status == 200);
  CHECK(taken.body.find(R"("ok":true)") != std::string::npos);
  CHECK(g.get("/v1/models", "the-key-of-another").status == 200);
  CHECK(g.get("/v1/models/more").status == 404);
}

TEST_CASE("a bad file is refused with every error, a line each, and nothing changes") {
  reloading_gateway g;
  g.write(
      R"({ "providers": { "p": { "base_url": "nowhere" } }, "routes": { "chat": { "provider": "x", "modle": "m" } } })");
  const auto refused = g.reload();
  CHECK(refused.status == 400);
  for (const auto* part : {"/providers/p/base_url", "/routes/chat/provider", "/routes/chat/modle"})
    CHECK(refused.body.find(part) != std::string::npos);
  g.process->signal(SIGHUP);
  CHECK(http::test::eventually([&] { return g.count("not reloaded, everything stays as it was") == 2; }));
  CHECK(g.get("/v1/models/chat").status == 200);
  g.write("{ no json");
  CHECK(g.reload().status == 400);
  g.write(g.config({}, {}, "p", 5, R"(, "idempotency": { "durability": "power" })"));
  const auto fixed = g.reload();
  CHECK(fixed.status == 400);
  CHECK(fixed.body.find("/idempotency/durability: cannot change in a running program") != std::string::npos);
  CHECK(g.get("/v1/models/chat").status == 200);
}

TEST_CASE("a configuration file that became a pipe left a reload without an answer") {
  reloading_gateway g;
  const auto file = g.path("switchyard.json");
  REQUIRE(std::filesystem::remove(file));
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  const auto refused = g.reload();
  CHECK(refused.status == 400);
  CHECK(refused.body.find("is a pipe") != std::string::npos);
  std::filesystem::remove(file);
  REQUIRE(::mkfifo(g.path("key.pem").c_str(), 0600) == 0);
  g.write(
      g.config({}, {}, "p", 5, {}, R"(, "tls": { "certificate": "none.pem", "key": ")" + g.path("key.pem") + R"(" })"));
  const auto key = g.reload();
  CHECK(key.status == 400);
  CHECK(key.body.find("/gateway/tls/key") != std::string::npos);
  CHECK(g.get("/v1/models/chat").status == 200);
  g.process->signal(SIGTERM);
  CHECK(g.process->wait_end() == 0);
}

TEST_CASE("SIGHUPs that waited when SIGTERM came kept the program from ever ending") {
  reloading_gateway g;
  for (int i = 0; i < 2000; ++i) // one reload takes longer than that, so some wait behind it
    g.process->signal(SIGHUP);
  g.process->signal(SIGTERM);
  CHECK(g.process->wait_end() == 0);
}

TEST_CASE("a hundred reloads under 64 clients let no request fail") {
  reloading_gateway g;
  retrying_clients clients{g.process->port(), 7, tenant_key};
  for (int i = 0; i < 100; ++i) {
    const auto routes = i % 3 ? R"(, "more": { "provider": "q", "model": "m" })" : "";
    const auto tenants = i % 2 ? R"(, "other": { "key_env": "SWITCHYARD_TEST_OTHER" })" : "";
    g.write(g.config(routes, tenants, i % 4 < 2 ? "p" : "q", 5 + i % 5));
    if (i % 10 == 9)
      g.reload_by_signal();
    else
      REQUIRE(g.reload().status == 200);
  }
  clients.finish();
  for (const auto& problem : clients.problems())
    FAIL_CHECK(problem);
  CHECK(clients.retries() == 0);
  CHECK(clients.answers().size() > 100);
}
