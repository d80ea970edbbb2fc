// kill -9 at random moments under clients that retry with the same keys until they are answered: no key has two
// answers, no call is made twice without a mark, and nothing that was answered is forgotten [I5, I10, I11].

#include "gateway/program/gateway_process.hpp"

#include "adapters/http/server/fixture.hpp"
#include "support/catch.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace switchyard;
using namespace switchyard::gateway::test;
using http::test::raw_client;
using std::chrono::milliseconds;

namespace {

constexpr unsigned clients = 64;
constexpr std::size_t most_rows = 10'000; ///< of an answer of /admin/telemetry

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string text_between(const std::string& text, const std::string& before, char after) {
  const auto begin = text.find(before) + before.size();
  return text.substr(begin, text.find(after, begin) - begin);
}

/// A provider that answers every call after a while, each in other words, and counts those it has answered.
class counting_provider {
public:
  explicit counting_provider(std::uint64_t seed) : random_(seed) {}

  std::string address() const { return server_.server->address(); }

  std::uint64_t completed(const std::string& key) const {
    const std::lock_guard lock{mutex_};
    const auto found = completed_.find(key);
    return found == completed_.end() ? 0 : found->second;
  }

private:
  void answer(const std::shared_ptr<http::exchange>& x) {
    const std::lock_guard lock{mutex_};
    const auto wait = milliseconds{std::uniform_int_distribution{1, 30}(random_)};
    const auto timer = std::make_shared<boost::asio::steady_timer>(x->context(), wait);
    timer->async_wait([this, x, timer](boost::system::error_code) { complete(*x); });
  }

  void complete(http::exchange& x) {
    const auto key = text_between(x.request().body, R"("content":")", '"');
    std::uint64_t call = 0;
    {
      const std::lock_guard lock{mutex_};
      call = ++completed_[key];
    }
    header_list headers;
    headers.add("Content-Type", "application/json");
    x.reply(200, headers,
            R"({"choices":[{"message":{"role":"assistant","content":")" + key + " call " + std::to_string(call) +
                R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}})");
  }

  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::map<std::string, std::uint64_t> completed_;
  http::test::running_server server_{[this](const std::shared_ptr<http::exchange>& x) { answer(x); }};
};

/// The first answer of each key, and what went wrong.
class ledger_of_answers {
public:
  void heard(const std::string& key, const std::string& body) {
    const std::lock_guard lock{mutex_};
    const auto [found, first] = answers_.emplace(key, body);
    if (!first && found->second != body)
      wrong_.push_back(key + " was answered " + found->second + " and " + body);
  }
  void wrong(std::string what) {
    const std::lock_guard lock{mutex_};
    wrong_.push_back(std::move(what));
  }
  std::map<std::string, std::string> answers() const {
    const std::lock_guard lock{mutex_};
    return answers_;
  }
  std::vector<std::string> problems() const {
    const std::lock_guard lock{mutex_};
    return wrong_;
  }

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  std::vector<std::string> wrong_;
};

std::string keyed_request(const std::string& key, const std::string& request_id) {
  const auto body = R"({"model":"chat","messages":[{"role":"user","content":")" + key + R"("}]})";
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + key +
         "\r\nX-Request-Id: " + request_id + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// One try; no answer when the gateway was killed meanwhile.
http::test::answer try_once(std::uint16_t port, const std::string& request) {
  try {
    raw_client c;
    if (c.connect(port) && c.send(request)) {
      auto got = c.receive();
      const auto length = got.head.find("Content-Length: ");
      if (length != std::string::npos && got.body.size() == std::stoul(got.head.substr(length + 16)))
        return got;
    }
  } catch (const std::exception&) { // as good as none
  }
  return {};
}

/// One client: submits keys of its own and, with its neighbour, keys of both, each until it is answered; and some that
/// were answered once more.
void run_client(int number, std::uint64_t seed, std::uint16_t port, const std::atomic<bool>& stop,
                ledger_of_answers& ledger) {
  std::mt19937_64 random{seed + static_cast<std::uint64_t>(number)};
  std::vector<std::string> own;
  for (int i = 0; !stop; ++i) {
    std::string key = "c" + std::to_string(number) + "-" + std::to_string(i);
    if (!own.empty() && random() % 4 == 0)
      key = own[random() % own.size()];
    else if (random() % 4 == 0)
      key = "both" + std::to_string(number / 2) + "-" + std::to_string(i / 8);
    for (int tries = 0;; ++tries) {
      const auto got =
          try_once(port, keyed_request(key, key + "." + std::to_string(number) + "." + std::to_string(tries)));
      if (got.status == 200) {
        ledger.heard(key, got.body);
        own.push_back(key);
        break;
      }
      if (got.status != 0 && got.status != 503)
        ledger.wrong(key + " got " + std::to_string(got.status) + " " + got.body);
      std::this_thread::sleep_for(milliseconds{1 + random() % 10}); // a client's pause before it tries again
    }
  }
}

class crashing_gateway {
public:
  explicit crashing_gateway(const counting_provider& provider)
      : config_(folder_.write("switchyard.json", R"({
          "providers": { "p": { "base_url": "http://)" +
                                                     provider.address() + R"(/v1" } },
          "routes": { "chat": { "provider": "p", "model": "m" } },
          "admin": { "listen": "127.0.0.1:0" } })")) {
    start("127.0.0.1:0");
    port_ = process_->port();
  }

  std::uint16_t port() const noexcept { return port_; }

  void crash() {
    process_->signal(SIGKILL);
    CHECK(process_->wait_end() == 128 + SIGKILL);
  }
  void start() { start("127.0.0.1:" + std::to_string(port_)); }

  boost::json::value admin(const std::string& target) const {
    raw_client c(process_->admin_port());
    REQUIRE(c.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    const auto got = c.receive();
    REQUIRE(got.status == 200);
    return boost::json::parse(got.body);
  }

private:
  void start(const std::string& listen) {
    process_.emplace(folder_, std::vector<std::string>{"--config", config_, "--listen", listen, "--data-dir",
                                                       (folder_.path() / "data").string()});
    process_->wait_ready();
  }

  temp_dir folder_;
  std::string config_;
  std::optional<gateway_process> process_;
  std::uint16_t port_ = 0;
};

// Every attempt has its request, and every row its time and id.
void check_rows_are_whole(const boost::json::value& telemetry) {
  const auto& rows = telemetry.at("rows").as_array();
  CHECK_FALSE(rows.empty());
  std::set<std::string> requests, attempts;
  for (const auto& row : rows) {
    CHECK_FALSE(row.at("time").as_string().empty());
    const std::string id{row.at("request_id").as_string()};
    (row.at("kind") == "request" ? requests : attempts).insert(id);
  }
  std::size_t alone = 0;
  for (const auto& id : attempts)
    alone += !requests.contains(id);
  // An answer that is full ends amid the rows of those who ran at that time.
  CHECK(alone <= (rows.size() < most_rows ? 0u : clients));
}

bool marked_unknown(const boost::json::value& telemetry) {
  for (const auto& row : telemetry.at("rows").as_array())
    if (row.at("kind") == "request" && row.at("outcome_unknown").as_bool())
      return true;
  return false;
}

} // namespace

TEST_CASE("killed at random moments, the gateway gives each key one answer and forgets none [I5, I10, I11]") {
  const auto rounds = number_from("SWITCHYARD_CRASH_ROUNDS", 10);
  const auto seed = number_from("SWITCHYARD_CRASH_SEED", std::random_device{}());
  std::cout << rounds << " rounds, SWITCHYARD_CRASH_SEED=" << seed << std::endl;
  CAPTURE(seed);

  counting_provider provider{seed};
  crashing_gateway gateway{provider};
  ledger_of_answers ledger;
  std::atomic<bool> stop{false};
  std::vector<std::thread> all;
  for (unsigned i = 0; i < clients; ++i)
    all.emplace_back([&, i] { run_client(static_cast<int>(i), seed, gateway.port(), stop, ledger); });

  std::mt19937_64 random{seed};
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(milliseconds{std::uniform_int_distribution{5, 250}(random)}); // the random moment
    gateway.crash();
    gateway.start();
  }
  stop = true;
  for (auto& c : all)
    c.join();
  for (const auto& problem : ledger.problems())
    FAIL_CHECK(problem);

  gateway.crash();
  gateway.start();
  std::uint64_t twice = 0, calls = 0;
  const auto answers = ledger.answers();
  for (const auto& [key, body] : answers) {
    const auto id = key + ".last";
    const auto got = try_once(gateway.port(), keyed_request(key, id));
    CHECK(got.status == 200);
    CHECK(got.body == body);
    CHECK(got.has("Idempotency-Replayed: true"));
    calls += provider.completed(key);
    if (provider.completed(key) < 2)
      continue;
    ++twice;
    CAPTURE(key, provider.completed(key));
    CHECK(marked_unknown(gateway.admin("/admin/telemetry?request_id=" + id)));
  }
  check_rows_are_whole(gateway.admin("/admin/telemetry?limit=" + std::to_string(most_rows)));
  CHECK(answers.size() > rounds);
  std::cout << answers.size() << " keys answered, " << calls << " calls, " << twice
            << " keys called more than once, all marked" << std::endl;
}
