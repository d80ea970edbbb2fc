// How the program ends by itself: its exit statuses and what it says.

#include "gateway_process.hpp"

#include "adapters/http/server/fixture.hpp"
#include "support/catch.hpp"

#include <boost/json/parse.hpp>

#include <signal.h>

#include <regex>
#include <sstream>

using namespace switchyard;
using namespace switchyard::gateway::test;

namespace {

const std::string good = R"({
  "providers": { "alpha": { "base_url": "http://127.0.0.1:9/v1" } },
  "routes": { "chat": { "provider": "alpha", "model": "m" } },
  "gateway": { "listen": "127.0.0.1:0" }, "admin": { "listen": "127.0.0.1:0" } })";

/// Runs it to its end; the exit status and what it said.
std::pair<int, std::string> run(const temp_dir& folder, std::vector<std::string> arguments) {
  gateway_process p{folder, std::move(arguments)};
  const int status = p.wait_end();
  return {status, folder.read("out.log") + folder.read("err.log")};
}

bool has(const std::string& text, std::string_view part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a wrong command line ends with 2 and names the option") {
  temp_dir folder;
  for (const auto& [arguments, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "--config"},
           {{"--config", folder.write("a.json", good), "--bogus"}, "--bogus"},
           {{"--confg", "a.json"}, "--confg a.json"}, // in this order, and not only that --config is missing
           {{"--config", ""}, "--config"},
           {{"--config"}, "--config: 1 required FILE missing"},
           {{"--config", folder.write("a.json", good), "--data-dir", ""}, "--data-dir"},
           {{"--config", folder.write("a.json", good), "--listen", "nonsense"}, "command line: --listen: \"nonsense\""},
           {{"--config", folder.write("a.json", good), "--log-format", "xml"}, "text,json"},
           {{"--config", folder.write("a.json", good), "--admin", "0.0.0.0:1"}, "command line: --admin: "}}) {
    const auto [status, said] = run(folder, arguments);
    CHECK(status == 2);
    CHECK(has(said, part));
  }
}

TEST_CASE("a missing or wrong configuration ends with 2 and says where it is wrong") {
  temp_dir folder;
  const auto missing = (folder.path() / "none.json").string();
  auto [status, said] = run(folder, {"--config", missing});
  CHECK(status == 2);
  CHECK(has(said, missing));
  std::tie(status, said) =
      run(folder, {"--config", folder.write("bad.json", R"({"providers":{},"roots":{}})"), "--check"});
  CHECK(status == 2);
  CHECK(has(said, "/roots"));
}

TEST_CASE("--check ends with 0 on a valid configuration and starts nothing") {
  temp_dir folder;
  const auto data = (folder.path() / "data").string();
  const auto [status, said] = run(folder, {"--config", folder.write("a.json", good), "--check", "--data-dir", data});
  CHECK(status == 0);
  CHECK(has(said, "valid"));
  CHECK_FALSE(std::filesystem::exists(data));
}

TEST_CASE("a port or a data directory that is taken ends with 1 and is named") {
  temp_dir first_folder, folder;
  const auto data = (first_folder.path() / "data").string();
  gateway_process first{first_folder, {"--config", first_folder.write("a.json", good), "--data-dir", data}};
  first.wait_ready();
  const auto config = folder.write("a.json", good);
  auto [status, said] = run(folder, {"--config", config, "--data-dir", data});
  CHECK(status == 1);
  CHECK(has(said, data));
  CHECK_FALSE(has(said, "db_impl"));
  const auto taken = "127.0.0.1:" + std::to_string(first.port());
  std::tie(status, said) =
      run(folder, {"--config", config, "--data-dir", (folder.path() / "data").string(), "--listen", taken});
  CHECK(status == 1);
  CHECK(has(said, "cannot listen on " + taken));
  CHECK(has(said, "--listen or gateway.listen"));
  CHECK_FALSE(has(said, "ready gateway="));
  first.signal(SIGTERM);
  CHECK(first.wait_end() == 0);
}

TEST_CASE("what the configuration warns of was told by --check alone; a start and a reload tell it, once each") {
  temp_dir folder;
  const auto config = folder.write("a.json", R"({
    "providers": { "alpha": { "base_url": "http://127.0.0.1:9/v1" } },
    "routes": { "chat": { "provider": "alpha", "model": "m", "fallback": ["nowhere"] } },
    "budgets": [{ "cost": 5 }],
    "gateway": { "listen": "127.0.0.1:0" }, "admin": { "listen": "127.0.0.1:0" } })");
  gateway_process p{folder, {"--config", config, "--data-dir", (folder.path() / "data").string()}};
  p.wait_ready();
  const auto times = [&](std::string_view part) {
    const auto said = folder.read("err.log");
    std::size_t found = 0;
    for (auto at = said.find(part); at != said.npos; at = said.find(part, at + 1))
      ++found;
    return found;
  };
  p.signal(SIGHUP);
  CHECK(http::test::eventually([&] { return times("reloaded") == 1; }));
  p.signal(SIGTERM);
  CHECK(p.wait_end() == 0);
  CHECK(times("/budgets/0/cost: route \"chat\" has no price") == 2);
  CHECK(times("nowhere") == 2);
}

TEST_CASE("a missing write-ahead log is told in the log") {
  temp_dir folder;
  const std::vector<std::string> arguments{"--config", folder.write("a.json", good), "--data-dir",
                                           (folder.path() / "data").string()};
  const auto start = [&] {
    gateway_process p{folder, arguments};
    p.wait_ready();
    p.signal(SIGTERM);
    CHECK(p.wait_end() == 0);
    return folder.read("err.log");
  };
  CHECK_FALSE(has(start(), "write-ahead log"));
  for (const auto& file : std::filesystem::directory_iterator(folder.path() / "data" / "store"))
    if (file.path().extension() == ".log")
      std::filesystem::remove(file.path());
  const auto said = start();
  CHECK(has(said, "warning"));
  CHECK(has(said, "the write-ahead log in " + (folder.path() / "data" / "store").string() + " is missing"));
}

TEST_CASE("with --log-format json every line of the log is an object with time, level and message") {
  temp_dir folder;
  gateway_process p{folder,
                    {"--config", folder.write("a.json", good), "--data-dir", (folder.path() / "data").string(),
                     "--log-format", "json", "--log-level", "info"}};
  p.wait_ready();
  p.signal(SIGTERM);
  CHECK(p.wait_end() == 0);
  std::istringstream lines{folder.read("err.log")};
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    CAPTURE(line);
    const auto o = boost::json::parse(line).as_object();
    CHECK(std::regex_match(std::string{o.at("time").as_string()},
                           std::regex{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"}));
    CHECK(o.at("level") == "info");
    CHECK_FALSE(o.at("message").as_string().empty());
  }
  CHECK(count > 0); // that it drains
}

TEST_CASE("--log-level leaves out what is less") {
  temp_dir folder;
  gateway_process p{folder,
                    {"--config", folder.write("a.json", good), "--data-dir", (folder.path() / "data").string(),
                     "--log-level", "error"}};
  p.wait_ready();
  p.signal(SIGTERM);
  CHECK(p.wait_end() == 0);
  CHECK(folder.read("err.log").empty());
}
