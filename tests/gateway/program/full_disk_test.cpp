// A disk that is really full: the data directory is a small file system of its own, which only the gateway sees.

#include "gateway_process.hpp"

#include "adapters/http/server/fixture.hpp"

#include <fstream>

using namespace switchyard;
using namespace switchyard::gateway::test;
using http::test::answer;
using http::test::raw_client;

namespace {

// Mounts the file system where the data goes, then becomes the gateway. Takes a name space of its own for that: as an
// ordinary user with one for users, too.
constexpr std::string_view launcher = R"(
  where=$1; shift
  inside='mount -t tmpfs -o size=64m switchyard-test "$0" && exec "$@"'
  if unshare --user --map-root-user --mount true 2>/dev/null; then
    exec unshare --user --map-root-user --mount sh -c "$inside" "$where" "$@"
  fi
  if unshare --mount true; then
    exec unshare --mount sh -c "$inside" "$where" "$@"
  fi
  echo 'this test needs a file system of its own: allow user name spaces, or run it as root' >&2
  exit 1
)";

class gateway_on_a_small_disk {
public:
  gateway_on_a_small_disk()
      : data_(folder_.path() / "data"),
        process_((std::filesystem::create_directory(data_), folder_),
                 {"--config",
                  folder_.write("switchyard.json", R"({
                    "providers": { "p": { "base_url": "http://)" +
                                                       provider_.server->address() + R"(/v1" } },
                    "routes": { "chat": { "provider": "p", "model": "m" } },
                    "gateway": { "listen": "127.0.0.1:0" }, "admin": { "listen": "127.0.0.1:0" } })"),
                  "--data-dir", data_.string()},
                 {"sh", "-c", std::string{launcher}, "sh", data_.string()}) {
    process_.wait_ready();
  }

  answer call(const std::string& key = {}, const std::string& prompt = "x") const {
    const auto body = R"({"model":"chat","messages":[{"role":"user","content":")" + prompt + R"("}]})";
    raw_client c(process_.port());
    REQUIRE(c.send("POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n" +
                   (key.empty() ? "" : "Idempotency-Key: " + key + "\r\n") +
                   "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
    auto got = c.receive();
    served_ += got.status == 200 && !got.has("Idempotency-Replayed: true");
    return got;
  }

  /// Calls that a provider answered.
  int served() const { return served_; }

  /// As many as the usage tells.
  int used() const {
    const auto text = admin("/admin/usage");
    const std::string name = R"("requests":)";
    const auto at = text.find(name);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + name.size()));
  }

  /// Takes all that is left of the disk; the file's name.
  std::filesystem::path fill() const {
    const auto ballast = disk() / "ballast";
    std::ofstream file{ballast, std::ios::binary};
    const std::string piece(4096, 'x');
    while (file.write(piece.data(), static_cast<std::streamsize>(piece.size())).flush()) {
    }
    CHECK(std::filesystem::space(disk()).available == 0);
    return ballast;
  }

  /// The data directory as the gateway sees it.
  std::filesystem::path disk() const {
    return std::filesystem::path("/proc") / std::to_string(process_.pid()) / "root" / data_.relative_path();
  }

  std::string metric(const std::string& name) const {
    const auto text = "\n" + admin("/metrics");
    const auto at = text.find("\n" + name + " ");
    REQUIRE(at != std::string::npos);
    return text.substr(at + name.size() + 2, text.find('\n', at + 1) - at - name.size() - 2);
  }

  std::string log() const { return folder_.read("err.log"); }

private:
  std::string admin(const std::string& path) const {
    raw_client c(process_.admin_port());
    REQUIRE(c.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    return c.receive().body;
  }

  // An answer as large as the prompt says.
  static void answer_call(const std::shared_ptr<http::exchange>& x) {
    header_list headers;
    headers.add("Content-Type", "application/json");
    const bool large = x->request().body.find("large") != std::string::npos;
    x->reply(200, headers,
             R"({"choices":[{"message":{"content":")" + std::string(large ? 500'000 : 5, 'y') +
                 R"("},"finish_reason":"stop"}]})");
  }

  temp_dir folder_;
  std::filesystem::path data_;
  http::test::running_server provider_{answer_call};
  gateway_process process_;
  mutable int served_ = 0;
};

void check_full(const gateway_on_a_small_disk& g, const std::string& stored_key, const std::string& stored_body) {
  for (int i = 0; i < 20; ++i) {
    CHECK(g.call().status == 200);
    const auto refused = g.call("new-" + std::to_string(i));
    CHECK(refused.status == 503);
    CHECK(refused.body.find("store_unavailable") != std::string::npos);
  }
  const auto replay = g.call(stored_key); // nothing that was answered is forgotten
  CHECK(replay.status == 200);
  CHECK(replay.has("Idempotency-Replayed: true"));
  CHECK(replay.body == stored_body);
}

void check_recovers(const gateway_on_a_small_disk& g) {
  answer got;
  CHECK(http::test::eventually([&] {
    got = g.call("after");
    return got.status == 200;
  }));
  const auto replay = g.call("after");
  CHECK(replay.has("Idempotency-Replayed: true"));
  CHECK(replay.body == got.body);
}

} // namespace

TEST_CASE("a disk that is full at once refuses keys and nothing else, and all returns with the space [I13, H7, U2]") {
  gateway_on_a_small_disk g;
  const auto first = g.call("before");
  REQUIRE(first.status == 200);
  for (int round = 0; round < 2; ++round) {
    const auto ballast = g.fill();
    // Until the end of the disk is met, or looked for: within a tenth of a second.
    int tries = 0;
    CHECK(http::test::eventually(
        [&] { return g.call("wall-" + std::to_string(round) + "-" + std::to_string(++tries)).status != 200; }));
    check_full(g, "before", first.body);
    CHECK(http::test::eventually([&] { return g.metric("switchyard_telemetry_dropped_total") != "0"; }));
    CHECK(g.log().find("rows lost") != std::string::npos);
    std::filesystem::remove(ballast);
    check_recovers(g);
    // The rows of that time are lost, what was used is not.
    http::test::eventually([&] { return g.used() == g.served(); });
    CHECK(g.used() == g.served());
  }
}

TEST_CASE("a disk that fills by what is stored refuses keys before it is full, and all returns with the space [I13]") {
  gateway_on_a_small_disk g;
  const auto ballast = g.disk() / "ballast";
  std::ofstream{ballast, std::ios::binary} << std::string(20 << 20, 'x');
  const auto first = g.call("before", "large");
  REQUIRE(first.status == 200);
  // Logs and tables both grow: 64 MiB hold at most some 90 answers of half a megabyte, once in a log, once in a table.
  int stored = 0;
  while (stored < 1000 && g.call("k" + std::to_string(stored), "large").status == 200)
    ++stored;
  CHECK(stored < 1000);
  const auto refused = g.call("before", "large");
  CHECK(refused.body == first.body);
  for (int i = 0; i < 20; ++i) {
    CHECK(g.call().status == 200);
    CHECK(g.call("new-" + std::to_string(i)).status == 503);
  }
  std::filesystem::remove(ballast);
  check_recovers(g);
  for (int i = 0; i < stored; ++i)
    CHECK(g.call("k" + std::to_string(i), "large").has("Idempotency-Replayed: true"));
}
