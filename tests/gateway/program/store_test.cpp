// switchyard-store beside a running gateway.

#include "gateway_process.hpp"

#include "adapters/http/server/fixture.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

using namespace switchyard;
using namespace switchyard::gateway::test;
using http::test::raw_client;

namespace {

struct outcome {
  int status;
  std::string output; ///< of both
};

outcome run_store(const std::string& arguments) {
  const auto command = std::string{SWITCHYARD_STORE} + " " + arguments + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string output;
  char piece[4096];
  while (const auto got = std::fread(piece, 1, sizeof piece, pipe))
    output.append(piece, got);
  return {WEXITSTATUS(::pclose(pipe)), output};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("the tool reads beside a running gateway, and purges only without it") {
  temp_dir folder;
  const auto data = (folder.path() / "data").string();
  const auto on_data = "--data-dir " + data + " ";
  {
    http::test::running_server provider{[](const std::shared_ptr<http::exchange>& x) {
      header_list headers;
      headers.add("Content-Type", "application/json");
      x->reply(200, headers, R"({"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]})");
    }};
    gateway_process gateway{folder,
                            {"--config",
                             folder.write("switchyard.json", R"({
                               "providers": { "p": { "base_url": "http://)" +
                                                                 provider.server->address() + R"(/v1" } },
                               "routes": { "chat": { "provider": "p", "model": "m" } },
                               "gateway": { "listen": "127.0.0.1:0" }, "admin": { "listen": "127.0.0.1:0" } })"),
                             "--data-dir", data}};
    gateway.wait_ready();
    raw_client c = gateway.client();
    const std::string body = R"({"model":"chat","messages":[]})";
    REQUIRE(c.send(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nIdempotency-Key: secret-key\r\nX-Request-Id: the-id\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body));
    REQUIRE(c.receive().status == 200);

    const auto stats = run_store(on_data + "stats");
    CHECK(stats.status == 0);
    CHECK(has(stats.output, "idempotency keys: 1 answered, 0 in flight or interrupted, 0 expired"));
    CHECK_FALSE(has(stats.output, "secret-key"));
    outcome row{};
    CHECK(http::test::eventually([&] { // telemetry is written a moment after the answer
      row = run_store(on_data + "request the-id");
      return row.status == 0;
    }));
    CHECK(has(row.output, R"("kind":"request")"));
    CHECK(has(row.output, R"("kind":"attempt")"));
    const auto purge = run_store(on_data + "purge");
    CHECK(purge.status == 1);
    CHECK(has(purge.output, "is in use by another process: stop the gateway"));
    CHECK_FALSE(has(purge.output, "db_impl"));
  }
  const auto check = run_store(on_data + "--progress check");
  CHECK(check.status == 0);
  CHECK(has(check.output, ", 0 problems"));
  const auto purge = run_store(on_data + "--progress purge --older-than 1d");
  CHECK(purge.status == 0);
  CHECK(has(purge.output, "families"));
  CHECK(has(purge.output, "dropped about "));
}

TEST_CASE("the tool tells damage in a closed store, and a store that cannot be opened [I13]") {
  temp_dir folder;
  const auto config = folder.write("switchyard.json", R"({
    "providers": { "p": { "base_url": "http://127.0.0.1:1/v1" } },
    "routes": { "chat": { "provider": "p", "model": "m" } },
    "gateway": { "listen": "127.0.0.1:0" }, "admin": { "listen": "127.0.0.1:0" } })");
  const auto data = folder.path() / "data";
  {
    gateway_process gateway{folder, {"--config", config, "--data-dir", data.string()}};
    gateway.wait_ready();
    gateway.signal(SIGTERM);
    REQUIRE(gateway.wait_end() == 0);
  }
  const auto on_data = "--data-dir " + data.string() + " ";
  REQUIRE(run_store(on_data + "check").status == 0);
  REQUIRE(run_store(on_data + "purge").status == 0); // from the log into files
  std::size_t tables = 0;
  for (const auto& file : std::filesystem::directory_iterator(data / "store"))
    if (file.path().extension() == ".sst") {
      ++tables;
      std::fstream table{file.path(), std::ios::in | std::ios::out | std::ios::binary};
      table.write("damage", 6);
    }
  REQUIRE(tables > 0);
  const auto damaged = run_store(on_data + "check");
  CAPTURE(damaged.output);
  CHECK(damaged.status == 1);
  CHECK((has(damaged.output, "a file is damaged") || has(damaged.output, "corrupt")));

  std::ofstream{data / "store" / "CURRENT"} << "nonsense";
  for (const auto* command : {"check", "stats", "request x", "purge"}) {
    const auto refused = run_store(on_data + command);
    CAPTURE(refused.output);
    CHECK(refused.status == 1);
    CHECK(has(refused.output, (data / "store").string()));
  }
}

TEST_CASE("the tool says what is wrong with its use, and what there is not") {
  temp_dir folder;
  const auto on_data = "--data-dir " + folder.path().string() + " ";
  CHECK(run_store("--help").status == 0);
  const auto nothing = run_store("");
  CHECK(nothing.status == 2);
  CHECK(has(nothing.output, "check, stats, request, purge"));
  const auto unknown = run_store("shrink"); // was told only that a subcommand is required
  CHECK(unknown.status == 2);
  CHECK(has(unknown.output, "shrink"));
  CHECK(has(unknown.output, "check, stats, request, purge"));
  CHECK(run_store(on_data + "request").status == 2);
  CHECK(run_store(on_data + "check stats").status == 2);
  const auto behind = run_store("stats " + on_data + "--progress"); // options were refused there
  CHECK(behind.status == 1);
  CHECK(has(behind.output, "there is no store in " + folder.path().string()));
  const auto age = run_store(on_data + "purge --older-than soon");
  CHECK(age.status == 2);
  CHECK(has(age.output, "give a positive duration with a unit"));
  for (const auto* command : {"check", "stats", "request x", "purge"}) {
    const auto missing = run_store(on_data + command);
    CHECK(missing.status == 1);
    CHECK(has(missing.output, "there is no store in " + folder.path().string()));
  }
}
