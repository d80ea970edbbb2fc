// The dashboard's files as they are served. What the page does with them is tested in tests/dashboard, in a browser.

#include "fixture.hpp"

#include "dashboard.hpp"

#include <filesystem>
#include <set>

using namespace switchyard;
using namespace switchyard::admin::test;

namespace {

std::string path_of(const admin::embedded_file& file) {
  return file.name == "index.html" ? "/" : "/dashboard/" + std::string{file.name};
}

config with_token() {
  auto c = three_routes();
  c.admin.token = secret{"s3cret-token"};
  return c;
}

} // namespace

TEST_CASE("the dashboard's files are served without the token, and only they") {
  running_admin admin{with_token()};
  for (const auto& file : admin::embedded_files()) {
    INFO(file.name);
    const auto got = admin.call("GET", path_of(file));
    CHECK(got.status == 200);
    CHECK(got.body == file.text);
    CHECK(admin.call("HEAD", path_of(file)).status == 200);
    const auto changed = admin.call("POST", path_of(file));
    CHECK(changed.status == 405);
    CHECK(changed.has("Allow: GET"));
  }
  for (const auto* path : {"/dashboard/", "/dashboard/nothing.js", "/dashboard", "/dashboard/index.html"})
    CHECK(admin.call("GET", path).status == 401);
}

TEST_CASE("the browser is told to load nothing but the dashboard's own files, and to run nothing inline") {
  running_admin admin;
  for (const auto& file : admin::embedded_files()) {
    INFO(file.name);
    const auto got = admin.call("GET", path_of(file));
    CHECK(got.has("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"));
    CHECK(got.has("X-Content-Type-Options: nosniff"));
    CHECK(got.has("Referrer-Policy: no-referrer"));
    CHECK(got.has("Cache-Control: no-store"));
  }
  CHECK(admin.call("GET", "/").has("Content-Type: text/html; charset=utf-8"));
  CHECK(admin.call("GET", "/dashboard/main.js").has("Content-Type: text/javascript; charset=utf-8"));
  CHECK(admin.call("GET", "/dashboard/style.css").has("Content-Type: text/css; charset=utf-8"));
  CHECK(admin.call("GET", "/dashboard/icon.svg").has("Content-Type: image/svg+xml"));
}

TEST_CASE("without a token the dashboard is refused under a foreign Host like everything else") {
  running_admin admin;
  auto c = admin.client();
  REQUIRE(c.send("GET / HTTP/1.1\r\nHost: evil.example:9090\r\n\r\n"));
  CHECK(c.receive().status == 403);
}

TEST_CASE("every file of the dashboard's folder is compiled in") {
  std::set<std::string> there, embedded;
  for (const auto& entry : std::filesystem::directory_iterator{SWITCHYARD_DASHBOARD_FOLDER})
    there.insert(entry.path().filename().string());
  for (const auto& file : admin::embedded_files())
    embedded.emplace(file.name);
  CHECK(there == embedded);
}

TEST_CASE("the dashboard names no other host and makes no markup out of texts") {
  for (const auto& file : admin::embedded_files()) {
    INFO(file.name);
    std::string text{file.text};
    // The name of a language, which nobody fetches.
    constexpr std::string_view name_space = "http://www.w3.org/2000/svg";
    if (const auto at = text.find(name_space); at != text.npos)
      text.erase(at, name_space.size());
    for (const auto* forbidden : {"://", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                                  "new Function", " style=", "<style", " onclick=", "localStorage", "document.cookie"})
      CHECK_FALSE(has(text, forbidden));
  }
}
