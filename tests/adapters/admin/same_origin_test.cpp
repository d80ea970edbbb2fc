#include "same_origin.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using admin::cross_site_refusal;

namespace {

http::request asking(std::string method, std::initializer_list<header_list::field> headers) {
  http::request r;
  r.method = std::move(method);
  for (const auto& h : headers)
    r.headers.add(h.name, h.value);
  return r;
}

bool accepts_host(std::string_view host, std::string_view listen = "127.0.0.1:9090") {
  return !cross_site_refusal(asking("GET", {{"Host", host}}), listen);
}

bool accepts_post(std::initializer_list<header_list::field> headers) {
  return !cross_site_refusal(asking("POST", headers), "127.0.0.1:9090");
}

} // namespace

TEST_CASE("loopback and the host that is listened at are accepted as Host, with any port") {
  for (const auto* host : {"localhost", "localhost:9090", "LocalHost:1", "127.0.0.1", "127.0.0.1:9090", "127.1.2.3:80",
                           "[::1]", "[::1]:9090"}) {
    INFO(host);
    CHECK(accepts_host(host));
  }
  CHECK(accepts_host("switchyard.internal:9090", "Switchyard.internal:0"));
  CHECK(accepts_host("[fe80::1]:9090", "[fe80::1]:9090"));
}

TEST_CASE("every other Host is refused: a name may resolve to this machine and still belong to a page") {
  for (const auto* host : {"evil.example", "evil.example:9090", "localhost.evil.example", "127.0.0.1.evil.example",
                           "127.evil.a.b", "10.0.0.1", "[::2]:9090", "::1", "", ":9090", "localhost:x",
                           "localhost:", "a@localhost", "localhost,evil.example", "0.0.0.0"}) {
    INFO(host);
    CHECK_FALSE(accepts_host(host));
  }
  const auto why = cross_site_refusal(asking("GET", {{"Host", "evil.example"}}), "127.0.0.1:9090");
  REQUIRE(why);
  CHECK(why->find("evil.example") != std::string::npos);
  CHECK(why->find("127.0.0.1:9090") != std::string::npos);
  CHECK(why->find("admin.token_env") != std::string::npos);
}

TEST_CASE("a change is accepted from programs and from pages of the admin plane itself") {
  CHECK(accepts_post({})); // HTTP/1.0
  CHECK(accepts_post({{"Host", "localhost:9090"}}));
  CHECK(accepts_post({{"Host", "localhost:9090"}, {"Origin", "http://localhost:9090"}}));
  CHECK(accepts_post(
      {{"Host", "LOCALHOST:9090"}, {"Origin", "http://localhost:9090"}, {"Sec-Fetch-Site", "same-origin"}}));
  CHECK(accepts_post({{"Host", "[::1]:9090"}, {"Origin", "http://[::1]:9090"}}));
  CHECK(accepts_post({{"Host", "localhost:9090"}, {"Sec-Fetch-Site", "none"}}));
}

TEST_CASE("a change asked for by any other page is refused") {
  for (const auto* origin : {"https://evil.example", "null", "", "http://localhost", "http://localhost:9091",
                             "http://127.0.0.1:9090", "localhost:9090", "http://localhost:9090.evil.example"}) {
    INFO(origin);
    CHECK_FALSE(accepts_post({{"Host", "localhost:9090"}, {"Origin", origin}}));
  }
  for (const auto* site : {"cross-site", "same-site", "", "anything"}) {
    INFO(site);
    CHECK_FALSE(accepts_post({{"Host", "localhost:9090"}, {"Sec-Fetch-Site", site}}));
  }
  // One bad sign is enough.
  CHECK_FALSE(accepts_post({{"Host", "localhost"}, {"Origin", "http://localhost"}, {"Sec-Fetch-Site", "cross-site"}}));
  CHECK_FALSE(accepts_post({{"Host", "localhost"}, {"Origin", "http://a"}, {"Sec-Fetch-Site", "same-origin"}}));
  CHECK_FALSE(accepts_post({{"Origin", "http://localhost"}}));
}

TEST_CASE("reading is left to the browser, which does not let another site's page see the answer") {
  for (const auto* method : {"GET", "HEAD"})
    CHECK_FALSE(cross_site_refusal(
        asking(method, {{"Host", "localhost"}, {"Origin", "http://a"}, {"Sec-Fetch-Site", "cross-site"}}),
        "127.0.0.1:0"));
  for (const auto* method : {"PUT", "DELETE", "PATCH", "OPTIONS"})
    CHECK(cross_site_refusal(asking(method, {{"Host", "localhost"}, {"Origin", "http://a"}}), "127.0.0.1:0"));
}
