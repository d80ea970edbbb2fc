// Opens many streams at once and prints, as one line of JSON, what became of them: for bench/streams/compare.py.

#include "stream_client.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>

namespace {

using namespace switchyard::bench;
namespace asio = boost::asio;

struct options {
  std::uint16_t port = 0;
  std::string model = "chat";
  std::string text = "hello";
  std::uint32_t streams = 100;
  std::uint32_t at_once = 0; ///< 0: all
  std::uint32_t ramp_ms = 1000;
  std::uint64_t seed = 1;
  std::string key_prefix; ///< of idempotency keys
  bool leave = false;
};

std::string request_of(const options& o, std::uint32_t number) {
  const auto body =
      R"({"model":")" + o.model + R"(","stream":true,"messages":[{"role":"user","content":")" + o.text + R"("}]})";
  auto head = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
              "Content-Length: " +
              std::to_string(body.size()) + "\r\n";
  if (!o.key_prefix.empty() && number % 2 == 0)
    head += "Idempotency-Key: " + o.key_prefix + std::to_string(number) + "\r\n";
  return head + "\r\n" + body;
}

leaving random_leaving(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  leaving l;
  l.when = static_cast<leaving::moment>(below(5));
  l.events = static_cast<std::uint32_t>(below(20));
  l.after = std::chrono::milliseconds{below(300)};
  l.reset = below(2) == 0;
  return l;
}

class run {
public:
  explicit run(const options& o) : options_(o), random_(o.seed) {}

  void go() {
    const auto at_once = options_.at_once == 0 ? options_.streams : std::min(options_.at_once, options_.streams);
    for (std::uint32_t i = 0; i < at_once; ++i) {
      auto timer = std::make_shared<asio::steady_timer>(io_);
      timer->expires_after(std::chrono::microseconds{std::uint64_t{options_.ramp_ms} * 1000 * i / at_once});
      timer->async_wait([this, timer](const boost::system::error_code&) { next(); });
    }
    io_.run();
  }

  void print() {
    std::sort(firsts_.begin(), firsts_.end());
    std::sort(gaps_.begin(), gaps_.end());
    std::cout << "{\"streams\":" << begun_ << ",\"whole\":" << whole_ << ",\"different_contents\":" << contents_.size()
              << ",\"chunks\":" << (contents_.empty() ? 0 : contents_.begin()->second.chunks) << ",\"content_hash\":"
              << (contents_.empty() ? 0 : std::hash<std::string>{}(contents_.begin()->first) % 1000000007);
    print_figures("first_us", firsts_);
    print_figures("gap_us", gaps_);
    std::cout << ",\"problems\":{";
    const char* comma = "";
    for (const auto& [what, count] : problems_) {
      std::cout << comma << '"' << what << "\":" << count;
      comma = ",";
    }
    std::cout << "}}\n";
  }

private:
  struct content_count {
    std::uint32_t chunks = 0, streams = 0;
  };

  void next() {
    if (begun_ == options_.streams)
      return;
    const auto number = begun_++;
    std::optional<leaving> leave;
    if (options_.leave)
      leave = random_leaving(random_);
    const auto client =
        std::make_shared<stream_client>(io_, asio::ip::tcp::endpoint{asio::ip::address_v4::loopback(), options_.port},
                                        request_of(options_, number), leave);
    client->start([this](const stream_outcome& o) { ended(o); });
  }

  void ended(const stream_outcome& o) {
    if (o.whole) {
      ++whole_;
      auto& c = contents_[o.content];
      c.chunks = o.chunks;
      ++c.streams;
    } else if (!o.problem.empty()) {
      auto what = o.problem.substr(0, 120);
      std::erase_if(what, [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; });
      ++problems_[what];
    }
    if (o.first)
      firsts_.push_back(
          static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(*o.first).count()));
    gaps_.insert(gaps_.end(), o.gaps_us.begin(), o.gaps_us.end());
    asio::post(io_, [this] { next(); });
  }

  static void print_figures(const char* name, const std::vector<std::uint32_t>& sorted) {
    const auto at = [&](double q) {
      return sorted.empty() ? 0
                            : sorted[std::min(sorted.size() - 1,
                                              static_cast<std::size_t>(q * static_cast<double>(sorted.size())))];
    };
    std::cout << ",\"" << name << "\":{\"p50\":" << at(0.5) << ",\"p90\":" << at(0.9) << ",\"p99\":" << at(0.99)
              << ",\"p999\":" << at(0.999) << ",\"max\":" << at(1.0) << "}";
  }

  options options_;
  std::mt19937_64 random_;
  asio::io_context io_{1};
  std::uint32_t begun_ = 0, whole_ = 0;
  std::map<std::string, content_count> contents_;
  std::map<std::string, std::uint32_t> problems_;
  std::vector<std::uint32_t> firsts_, gaps_;
};

} // namespace

int main(int argc, char** argv) {
  options o;
  CLI::App app{"Opens streams of chat completions on loopback and measures them."};
  app.add_option("--port", o.port, "of the server")->required();
  app.add_option("--model", o.model, "in the requests");
  app.add_option("--text", o.text, "what is said in the requests");
  app.add_option("--streams", o.streams, "how many")->check(CLI::Range(1, 1'000'000));
  app.add_option("--at-once", o.at_once, "how many at once; 0: all");
  app.add_option("--ramp-ms", o.ramp_ms, "over how long the first ones begin");
  app.add_option("--seed", o.seed, "of the random draws");
  app.add_option("--key-prefix", o.key_prefix, "every other request has an idempotency key that begins so");
  app.add_flag("--leave", o.leave, "clients leave at random points");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  run r{o};
  r.go();
  r.print();
}
