#include "fixture.hpp"

using namespace switchyard;
using namespace switchyard::admin::test;

TEST_CASE("a circuit is listed with every field of the contract, unknown figures as null [H8]") {
  running_admin admin;
  const auto all = admin.get("/admin/circuits");
  CHECK(all.size() == 1);
  REQUIRE(all.at("circuits").as_array().size() == 3);
  CHECK(admin.circuit("good") == json::object{{"id", "good"},
                                              {"provider", "good"},
                                              {"model", nullptr},
                                              {"region", nullptr},
                                              {"state", "closed"},
                                              {"mode", "auto"},
                                              {"consecutive_failures", 0},
                                              {"window_calls", nullptr},
                                              {"failure_rate", nullptr},
                                              {"slow_call_rate", nullptr},
                                              {"opened_at", nullptr},
                                              {"retry_after_ms", nullptr},
                                              {"probes_in_flight", 0},
                                              {"trips", 0}});
}

TEST_CASE("an open circuit shows since when, how long still, and its trips [C5]") {
  running_admin admin;
  admin.submit("bad");
  CHECK(admin.circuit("broken").at("consecutive_failures") == 1);
  admin.submit("bad");
  const auto open = admin.circuit("broken");
  CHECK(open.at("state") == "open");
  CHECK(open.at("trips") == 1);
  CHECK(open.at("opened_at").as_string().ends_with("Z"));
  CHECK(open.at("retry_after_ms").as_int64() > 0);
  CHECK(open.at("retry_after_ms").as_int64() <= 60'000);
}

TEST_CASE("rates of a window are plain decimals") {
  auto c = three_routes();
  auto& window = c.circuits["default"].window.emplace();
  window.size = 20;
  window.minimum_calls = 20;
  window.failure_rate = 0.9;
  c.circuits["default"].consecutive_failures = 10;
  running_admin admin{c};
  for (int i = 0; i < 3; ++i)
    admin.submit("bad");
  const auto text = admin.call("GET", "/admin/circuits").body;
  CHECK(has(text, R"("window_calls":3,"failure_rate":1,)"));
  CHECK_FALSE(has(text, "E0"));
}

TEST_CASE("an operator's mode and reset take effect at once [C1]") {
  running_admin admin;
  const auto change = [&](const char* body) { return admin.call("POST", "/admin/circuits/broken", body); };
  CHECK(json::parse(change(R"({"mode":"forced_open"})").body) == json::value{{"ok", true}});
  CHECK(admin.circuit("broken").at("mode") == "forced_open");
  CHECK(admin.submit("bad")->code == errc::circuit_open);
  CHECK(change(R"({"mode":"disabled"})").status == 200);
  CHECK(admin.circuit("broken").at("mode") == "disabled");
  for (int i = 0; i < 3; ++i)
    CHECK(admin.submit("bad")->what == request_result::kind::provider_error);
  CHECK(change(R"({"mode":"auto","reset":true})").status == 200);
  CHECK(admin.circuit("broken").at("mode") == "auto");
  CHECK(admin.circuit("broken").at("state") == "closed");
  CHECK(admin.circuit("good").at("mode") == "auto");
}

TEST_CASE("an id with slashes is percent-encoded in the path, twice inside a part") {
  running_admin admin;
  constexpr auto id = "wide/a%2Fb/eu";
  CHECK(admin.circuit(id).at("model") == "a/b");
  CHECK(admin.circuit(id).at("region") == "eu");
  CHECK(admin.call("POST", "/admin/circuits/wide%2Fa%252Fb%2Feu", R"({"mode":"disabled"})").status == 200);
  CHECK(admin.circuit(id).at("mode") == "disabled");
}

TEST_CASE("a reset of all closes every circuit, and a mode for all is refused") {
  running_admin admin;
  for (const auto* route : {"bad", "region"}) {
    admin.submit(route);
    admin.submit(route);
  }
  CHECK(admin.circuit("broken").at("state") == "open");
  CHECK(admin.circuit("wide/a%2Fb/eu").at("state") == "open");
  const auto refused = admin.call("POST", "/admin/circuits", R"({"mode":"disabled"})");
  CHECK(refused.status == 400);
  CHECK(has(message_of(refused), R"({"reset":true})"));
  CHECK(admin.circuit("broken").at("mode") == "auto");
  CHECK(json::parse(admin.call("POST", "/admin/circuits", R"({"reset":true})").body) == json::value{{"ok", true}});
  CHECK(admin.circuit("broken").at("state") == "closed");
  CHECK(admin.circuit("wide/a%2Fb/eu").at("state") == "closed");
}

TEST_CASE("an unknown circuit is 404, a path that is not percent-encoded properly 400") {
  running_admin admin;
  for (const auto* id : {"nobody", "GOOD", "good/m", "%ff%00", "good%20"}) {
    INFO(id);
    const auto got = admin.call("POST", "/admin/circuits/" + std::string{id}, R"({"reset":true})");
    CHECK(got.status == 404);
    CHECK(error_of(got).at("code") == "not_found");
    CHECK(has(message_of(got), "there is no circuit"));
  }
  for (const auto* id : {"%", "%2", "%zz"}) {
    INFO(id);
    CHECK(admin.call("POST", "/admin/circuits/" + std::string{id}, R"({"reset":true})").status == 400);
  }
}

TEST_CASE("a body that is not accepted is 400, says what is, and changes nothing") {
  running_admin admin;
  for (const auto* body :
       {"", "no", "[]", "null", "{}", R"({"mode":"open"})", R"({"mode":"AUTO"})", R"({"mode":1})", R"({"reset":"yes"})",
        R"({"reset":false})", R"({"mode":"disabled","rest":true})", R"({"mode":"disabled"} x)"}) {
    INFO(body);
    const auto got = admin.call("POST", "/admin/circuits/good", body);
    CHECK(got.status == 400);
    CHECK(error_of(got).at("code") == "invalid_request");
    CHECK(has(message_of(got), "forced_open"));
  }
  CHECK(admin.circuit("good").at("mode") == "auto");
}
