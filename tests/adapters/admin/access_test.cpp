// Who may ask, for what, and how: token, web pages, methods, paths.

#include "fixture.hpp"

using namespace switchyard;
using namespace switchyard::admin::test;

namespace {

constexpr std::string_view readable[] = {"/admin",           "/metrics",      "/admin/circuits", "/admin/health",
                                         "/admin/telemetry", "/admin/config", "/admin/events"};

config with_token() {
  auto c = three_routes();
  c.admin.token = secret{"s3cret-token"};
  return c;
}

} // namespace

TEST_CASE("with a token every path but /healthz and the dashboard's files needs it") {
  running_admin admin{with_token()};
  CHECK(admin.call("GET", "/healthz").status == 200);
  for (const auto path : readable) {
    INFO(path);
    const auto got = admin.call("GET", path);
    CHECK(got.status == 401);
    CHECK(error_of(got).at("code") == "unauthorized");
    CHECK(got.has("WWW-Authenticate: Bearer"));
  }
  CHECK(admin.call("GET", "/nothing").status == 401); // not even what there is
  CHECK(admin.call("POST", "/admin/circuits", R"({"reset":true})").status == 401);
  CHECK(admin.call("POST", "/admin/circuits/broken", R"({"mode":"forced_open"})").status == 401);
  CHECK(admin.call("POST", "/admin/reload").status == 401);
}

TEST_CASE("only the whole token is accepted, whatever the case of Bearer") {
  running_admin admin{with_token()};
  const auto status = [&](const std::string& value) {
    return admin.call("GET", "/admin/health", {}, "Authorization: " + value + "\r\n").status;
  };
  CHECK(status("Bearer s3cret-token") == 200);
  CHECK(status("bearer s3cret-token") == 200);
  CHECK(status("Bearer  s3cret-token") == 200); // one space or more
  for (const auto* wrong : {"Bearer s3cret-toke", "Bearer s3cret-token2", "Bearer S3CRET-TOKEN", "Bearer", "Bearer ",
                            "", "s3cret-token", "Basic s3cret-token", "Bearers3cret-token"}) {
    INFO(wrong);
    CHECK(status(wrong) == 401);
  }
}

TEST_CASE("a token is never shown: not in an error, not in the configuration") {
  running_admin admin{with_token()};
  CHECK_FALSE(has(admin.call("GET", "/metrics", {}, "Authorization: Bearer wrong-token\r\n").body, "wrong-token"));
  const auto got = admin.call("GET", "/admin/config", {}, "Authorization: Bearer s3cret-token\r\n");
  CHECK(got.status == 200);
  CHECK_FALSE(has(got.body, "s3cret-token"));
}

TEST_CASE("a web page of another site could reset circuits on an admin plane without a token") {
  running_admin admin;
  admin.submit("bad");
  admin.submit("bad");
  REQUIRE(admin.circuit("broken").at("state") == "open");
  for (const auto* header :
       {"Origin: https://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"}) {
    INFO(header);
    for (const auto* path : {"/admin/circuits", "/admin/circuits/broken", "/admin/reload"}) {
      const auto got = admin.call("POST", path, R"({"reset":true})", header);
      CHECK(got.status == 403);
      CHECK(error_of(got).at("code") == "forbidden");
    }
  }
  CHECK(admin.circuit("broken").at("state") == "open");
  CHECK(admin.call("POST", "/admin/circuits", R"({"reset":true})", "Origin: http://localhost\r\n").status == 200);
  CHECK(admin.circuit("broken").at("state") == "closed");
}

TEST_CASE("a page whose name was made to resolve to this machine could read an admin plane without a token") {
  running_admin admin;
  auto c = admin.client();
  REQUIRE(c.send("GET /admin/config HTTP/1.1\r\nHost: evil.example:9090\r\n\r\n"));
  const auto got = c.receive();
  CHECK(got.status == 403);
  CHECK(error_of(got).at("code") == "forbidden");
  CHECK(has(message_of(got), "evil.example:9090"));
}

TEST_CASE("with a token neither Host nor Origin matters: a page does not have the token") {
  running_admin admin{with_token()};
  auto c = admin.client();
  REQUIRE(c.send("POST /admin/circuits HTTP/1.1\r\nHost: admin.example\r\nOrigin: https://other.example\r\n"
                 "Authorization: Bearer s3cret-token\r\nContent-Length: 14\r\n\r\n{\"reset\":true}"));
  CHECK(c.receive().status == 200);
}

TEST_CASE("a method that a path does not take is 405 and names those that it takes") {
  running_admin admin;
  const auto refused = [&](const char* method, std::string_view path, const std::string& allowed) {
    INFO(method << " " << path);
    const auto got = admin.call(method, path);
    CHECK(got.status == 405);
    CHECK(got.has("Allow: " + allowed));
    CHECK(error_of(got).at("code") == "method_not_allowed");
    CHECK(has(message_of(got), allowed));
  };
  for (const auto path : readable)
    if (path != "/admin/circuits")
      for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS"})
        refused(method, path, "GET");
  refused("DELETE", "/admin/circuits", "GET, POST");
  refused("GET", "/admin/circuits/good", "POST");
  refused("DELETE", "/admin/circuits/good", "POST");
  refused("GET", "/admin/reload", "POST");
  CHECK(admin.call("HEAD", "/admin/events").status == 405); // it would have no end
}

TEST_CASE("HEAD is answered as GET, without a body") {
  running_admin admin;
  for (const auto path : readable) {
    if (path == "/admin/events")
      continue;
    INFO(path);
    const auto got = admin.call("HEAD", path);
    CHECK(got.status == 200);
    CHECK(has(got.head, "Content-Length: "));
    CHECK(got.body.empty());
  }
}

TEST_CASE("an unknown path is 404 and says so") {
  running_admin admin;
  for (const auto* path :
       {"/index.html", "/dashboard", "/dashboard/", "/dashboard/index.html", "/dashboard/../main.js",
        "/dashboard/nothing.js", "/admin/", "/admin/circuits/", "/Metrics", "/admin/nothing", "/v1/models"}) {
    INFO(path);
    const auto got = admin.call("GET", path);
    CHECK(got.status == 404);
    CHECK(error_of(got).at("code") == "not_found");
    CHECK(has(message_of(got), path));
  }
}

TEST_CASE("what the listener itself refuses looks like every error of the admin plane") {
  running_admin admin;
  auto c = admin.client();
  REQUIRE(c.send("GARBAGE\r\n\r\n"));
  const auto got = c.receive();
  CHECK(got.status == 400);
  CHECK(error_of(got).at("code") == "invalid_request");
}
