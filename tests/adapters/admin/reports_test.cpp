// What is read: metrics, health, telemetry, configuration, and what there is.

#include "fixture.hpp"

using namespace switchyard;
using namespace switchyard::admin::test;

TEST_CASE("the list of paths names every path") {
  running_admin admin;
  const auto got = admin.call("GET", "/admin");
  CHECK(got.status == 200);
  for (const auto* path : {"/ ", "/metrics", "/admin/circuits", "/admin/health", "/admin/budgets", "/admin/usage",
                           "/admin/telemetry", "/admin/config", "/admin/events", "/healthz"})
    CHECK(has(got.body, path));
}

TEST_CASE("metrics come as Prometheus text [M]") {
  running_admin admin;
  admin.submit("chat");
  const auto got = admin.call("GET", "/metrics");
  CHECK(got.status == 200);
  CHECK(has(got.head, "Content-Type: text/plain; version=0.0.4"));
  CHECK(has(got.body, "# TYPE switchyard_circuit_state gauge"));
  CHECK(has(got.body, R"(switchyard_requests_total{outcome="success",route="chat"} 1)"));
}

TEST_CASE("health lists every provider, those without data with nulls, and the worst of their circuits [H8]") {
  running_admin admin;
  for (int i = 0; i < 2; ++i) {
    admin.submit("chat");
    admin.submit("bad");
  }
  json::object health;
  // The attempts reach the health window by way of the log.
  CHECK(http::test::eventually([&] {
    health = admin.get("/admin/health");
    return health.at("providers").at(1).at("samples") == 2;
  }));
  CHECK(health.at("window_seconds") == 900);
  CHECK(health.at("reorder") == "off");
  const auto& rows = health.at("providers").as_array();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("id") == "broken");
  CHECK(rows[0].at("circuit") == "open");
  CHECK(rows[0].at("success_rate") == 0);
  CHECK(rows[0].at("mean_latency_ms").is_null()); // it had no success
  CHECK(rows[1].at("id") == "good");
  CHECK(rows[1].at("circuit") == "closed");
  CHECK(rows[1].at("success_rate") == 1);
  CHECK(rows[2].at("id") == "wide");
  CHECK(rows[2].at("samples") == 0);
  CHECK(rows[2].at("score").is_null());
}

TEST_CASE("telemetry shows a request as soon as it was answered") {
  running_admin admin;
  admin.submit("chat", "the-id");
  const auto rows = admin.get("/admin/telemetry?request_id=the-id").at("rows").as_array();
  REQUIRE(rows.size() == 1); // the log in memory keeps the requests
  CHECK(rows[0].at("kind") == "request");
  CHECK(rows[0].at("request_id") == "the-id");
  CHECK(rows[0].at("route") == "chat");
}

TEST_CASE("a bad parameter of telemetry is 400 and names it; bytes that are no UTF-8 are no other matter") {
  running_admin admin;
  for (const auto* query :
       {"limit=0", "since=x", "until=", "order=asc", "limit=5&x", "limit=%ff", "%ff=1", "limit=%"}) {
    INFO(query);
    const auto got = admin.call("GET", "/admin/telemetry?" + std::string{query});
    CHECK(got.status == 400);
    CHECK(error_of(got).at("code") == "invalid_request");
  }
}

TEST_CASE("a log that cannot be read is 503 and says why [H7]") {
  running_admin admin;
  admin.telemetry->fail = true;
  const auto got = admin.call("GET", "/admin/telemetry");
  CHECK(got.status == 503);
  CHECK(error_of(got).at("code") == "store_unavailable");
  CHECK(has(message_of(got), "the disk is gone"));
}

TEST_CASE(
    "budgets are shown with their limits, what is taken, and their windows; nulls where there is nothing [U1, H8]") {
  auto c = three_routes();
  budget_settings b;
  b.requests = 5;
  b.window = std::chrono::hours{2};
  c.budgets.push_back(b);
  running_admin admin{c};
  CHECK(admin.get("/admin/budgets").at("budgets").as_array().empty());
  admin.submit("chat");
  const auto rows = admin.get("/admin/budgets").at("budgets").as_array();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("tenant") == "");
  CHECK(rows[0].at("route") == "*");
  CHECK(rows[0].at("window_seconds") == 7200);
  CHECK(rows[0].at("limits").at("requests") == 5);
  CHECK(rows[0].at("limits").at("tokens").is_null());
  CHECK(rows[0].at("used").at("requests") == 1);
  CHECK(rows[0].at("reserved").at("requests") == 0);
  CHECK(rows[0].at("window_started").is_string());
  CHECK(rows[0].at("window_ends").is_string());
}

TEST_CASE("without budgets there are none to show [U1]") {
  running_admin admin;
  CHECK(admin.get("/admin/budgets").at("budgets").as_array().empty());
}

TEST_CASE("usage is shown by tenant, route or model, an unknown price as null [U2]") {
  auto c = three_routes();
  c.providers["good"].prices["m"] = {1'000'000, 2'000'000};
  running_admin admin{c};
  for (int i = 0; i < 3; ++i)
    admin.submit("chat");
  admin.submit("bad");
  const auto by_tenant = admin.get("/admin/usage");
  CHECK(by_tenant.at("group_by") == "tenant");
  CHECK(by_tenant.at("since").is_null());
  REQUIRE(by_tenant.at("rows").as_array().size() == 1);
  const auto& row = by_tenant.at("rows").at(0);
  CHECK(row.at("tenant") == "");
  CHECK(row.at("requests") == 3);
  CHECK(row.at("unpriced_requests") == 3); // the answer tells no tokens
  CHECK(row.at("cost").is_null());
  CHECK(admin.get("/admin/usage?group_by=route").at("rows").at(0).at("route") == "chat");
  CHECK(admin.get("/admin/usage?group_by=model").at("rows").at(0).at("model") == "m");
  CHECK(admin.get("/admin/usage?until=0").at("rows").as_array().empty());
  for (const auto* query : {"group_by=provider", "since=x", "limit=5", "%"}) {
    INFO(query);
    CHECK(error_of(admin.call("GET", "/admin/usage?" + std::string{query})).at("code") == "invalid_request");
  }
}

TEST_CASE("the configuration is shown with its defaults, numbers as a person writes them") {
  running_admin admin;
  const auto got = admin.call("GET", "/admin/config");
  CHECK(got.has("Cache-Control: no-store"));
  CHECK(json::parse(got.body).at("routes").at("region").at("model") == "a/b");
  CHECK(has(got.body, R"("jitter":0.2)"));
  CHECK_FALSE(has(got.body, "E-1"));
  CHECK_FALSE(has(got.body, "E0"));
}

TEST_CASE("reloading is not available and says so") {
  running_admin admin;
  const auto got = admin.call("POST", "/admin/reload");
  CHECK(got.status == 501);
  CHECK(error_of(got).at("code") == "not_implemented");
  CHECK(has(message_of(got), "restart"));
}
