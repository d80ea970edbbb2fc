// What goes to the provider.

#include "fixture.hpp"

namespace switchyard::http::test {

namespace {

/// The head of the request that a provider with these settings sees.
std::string head_of(provider_request r, const std::function<void(provider_settings&)>& change = {}) {
  std::promise<std::string> seen;
  scripted_server server([&](peer& p) {
    const auto request = p.read_request();
    seen.set_value(request.value_or(""));
    p.write(answer_with(""));
  });
  fixture f(server.url());
  if (change)
    change(f.settings);
  CHECK(!f.call(std::move(r)).error);
  auto text = seen.get_future().get();
  const auto host = "127.0.0.1:" + std::to_string(server.port());
  text.replace(text.find(host), host.size(), "HOST");
  return text;
}

provider_request with_headers(const std::vector<std::pair<std::string, std::string>>& fields) {
  header_list list;
  for (const auto& [name, value] : fields)
    REQUIRE(list.add(name, value));
  auto r = request_with("{}");
  r.headers = std::make_shared<const header_list>(std::move(list));
  return r;
}

std::string make_error(const std::function<void(provider_settings&)>& change) {
  io_threads threads(1);
  provider_settings s;
  s.base_url = "http://127.0.0.1:1/v1";
  change(s);
  auto made = make_client(threads, s, {});
  REQUIRE(!made);
  return made.error();
}

} // namespace

TEST_CASE("a request's head has what the provider needs") {
  CHECK(head_of(request_with("{\"a\":1}")) == "POST /v1/chat/completions HTTP/1.1\r\n"
                                              "Host: HOST\r\n"
                                              "Accept-Encoding: identity\r\n"
                                              "Content-Type: application/json\r\n"
                                              "Content-Length: 7\r\n\r\n{\"a\":1}");
}

TEST_CASE("key, configured headers and query go with the request") {
  const auto head = head_of(with_headers({{"api-key", "caller's"}, {"X-Id", "7"}, {"Content-Type", "text/x"}}),
                            [](provider_settings& s) {
                              s.base_url += "/";
                              s.api_key = secret("k1");
                              s.headers["Api-Key"] = {"", "ENV", secret("k2")};
                              s.headers["X-Team"] = {"t", "", {}};
                              s.query = {{"api-version", "2024-10-21"}, {"q", "a b&c"}};
                            });
  CHECK(head == "POST /v1/chat/completions?api-version=2024-10-21&q=a%20b%26c HTTP/1.1\r\n"
                "Host: HOST\r\n"
                "Accept-Encoding: identity\r\n"
                "Api-Key: k2\r\n"
                "X-Team: t\r\n"
                "Authorization: Bearer k1\r\n"
                "X-Id: 7\r\n"
                "Content-Type: text/x\r\n"
                "Content-Length: 2\r\n\r\n{}");
}

TEST_CASE("a configured query is appended to one that is there") {
  const auto head = head_of(request_with("{}", "/x?a=b"), [](provider_settings& s) { s.query = {{"c", "d"}}; });
  CHECK(head.starts_with("POST /v1/x?a=b&c=d HTTP/1.1\r\n"));
}

TEST_CASE("a configured Authorization takes the place of the key") {
  const auto head = head_of(request_with("{}"), [](provider_settings& s) {
    s.api_key = secret("k1");
    s.headers["authorization"] = {"", "ENV", secret("Token k2")};
  });
  CHECK(head.find("k1") == std::string::npos);
  CHECK(head.find("authorization: Token k2\r\n") != std::string::npos);
}

TEST_CASE("a caller's fields that frame, route or authorise are not sent") {
  const auto head = head_of(with_headers({{"host", "evil"},
                                          {"CONTENT-LENGTH", "999"},
                                          {"Transfer-Encoding", "chunked"},
                                          {"Connection", "close, X-Named"},
                                          {"X-Named", "1"},
                                          {"Authorization", "Bearer tenant"},
                                          {"Accept-Encoding", "gzip"},
                                          {"Expect", "100-continue"},
                                          {"Keep-Alive", "1"},
                                          {"Proxy-Authorization", "x"},
                                          {"Proxy-Whatever", "x"},
                                          {"TE", "trailers"},
                                          {"Trailer", "x"},
                                          {"Upgrade", "h2c"},
                                          {"X-Kept", "yes"}}));
  CHECK(head == "POST /v1/chat/completions HTTP/1.1\r\n"
                "Host: HOST\r\n"
                "Accept-Encoding: identity\r\n"
                "Content-Type: application/json\r\n"
                "X-Kept: yes\r\n"
                "Content-Length: 2\r\n\r\n{}");
}

TEST_CASE("a path that could break out of the request line reaches nobody") {
  const std::string path =
      GENERATE(as<std::string>{}, "", "x", "/a b", "/a\r\nX: y", "/a\nb", std::string("/a\0", 3), "/a#b", "/\x80");
  scripted_server server(echo);
  fixture f(server.url());
  const auto r = f.call(request_with("{}", path));
  CHECK(r.error == transport_error::bad_url);
  CHECK(!r.sent);
  CHECK(server.connections() == 0);
  CHECK(f.client().figures().active == 0);
}

TEST_CASE("unusable settings are refused with a reason") {
  const std::string url =
      GENERATE(as<std::string>{}, "", "not a url", "/v1", "ftp://host/", "http://", "http:///v1", "http://host/v1?q",
               "http://host/v1#f", "http://host:0/", "http://host:99999/", "http://ho%20st/");
  CAPTURE(url);
  CHECK_THAT(make_error([&](auto& s) { s.base_url = url; }), Catch::Matchers::Contains("base_url"));
}

TEST_CASE("no secret is in the reason of a refusal") {
  const auto password = make_error([](auto& s) { s.base_url = "http://user:hunter2@host/"; });
  CHECK(password.find("hunter2") == std::string::npos);
  const auto key = make_error([](auto& s) { s.api_key = secret("hunter2\r\nX: y"); });
  CHECK(key.find("hunter2") == std::string::npos);
  CHECK(key.find("API key") != std::string::npos);
  const auto header = make_error([](auto& s) { s.headers["X-Key"] = {"", "ENV", secret("hunter2\n")}; });
  CHECK(header.find("hunter2") == std::string::npos);
  CHECK(header.find("X-Key") != std::string::npos);
}

TEST_CASE("headers that the client sets itself cannot be configured") {
  const std::string name = GENERATE(as<std::string>{}, "Host", "content-length", "Transfer-Encoding", "Connection");
  CHECK_THAT(make_error([&](auto& s) { s.headers[name] = {"x", "", {}}; }), Catch::Matchers::Contains(name));
}

TEST_CASE("a CA file that cannot be loaded is named") {
  CHECK_THAT(make_error([](auto& s) {
               s.base_url = "https://host/";
               s.tls_ca = "no-such-file.pem";
             }),
             Catch::Matchers::Contains("no-such-file.pem"));
}

TEST_CASE("a name is resolved and an IPv6 literal understood") {
  {
    scripted_server server(echo);
    fixture f("http://localhost:" + std::to_string(server.port()));
    CHECK(f.call().body == "{}");
  }
  std::promise<std::string> seen;
  scripted_server server(
      [&](peer& p) {
        seen.set_value(p.read_request().value_or(""));
        p.write(answer_with("six"));
      },
      "::1");
  fixture f(server.url());
  CHECK(f.call().body == "six");
  CHECK(seen.get_future().get().find("Host: [::1]:" + std::to_string(server.port()) + "\r\n") != std::string::npos);
}

TEST_CASE("a provider that repeats our key in its error does not hand it to clients") {
  scripted_server server(says(answer_with(R"({"error":"no such key: key-of-ours-123, nor header-secret-1"})",
                                          "Content-Type: application/json\r\n", "401 Unauthorized")));
  fixture f(server.url());
  f.settings.api_key = secret{"key-of-ours-123"};
  f.settings.headers["x-key"].secret_env = "X_KEY";
  f.settings.headers["x-key"].value = secret{"header-secret-1"};
  const auto r = f.call();
  CHECK(r.status == 401);
  CHECK(r.body == R"({"error":"no such key: ***, nor ***"})");
}

} // namespace switchyard::http::test
