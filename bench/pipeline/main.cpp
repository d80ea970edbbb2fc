// Requests through the whole runtime with a provider in the process: what keys, durability, budgets and the cache cost.
// Rounds of all modes take turns, in one process; prints a JSON object with the medians.

#include "switchyard/actors/request_result.hpp"
#include "switchyard/http/io_threads.hpp"
#include "switchyard/openai/body.hpp"
#include "switchyard/runtime/core.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace switchyard;
using clock_type = std::chrono::steady_clock;

const std::string answer_body =
    R"({"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",)"
    R"("content":"Hello there, how may I help?"},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":9,"completion_tokens":8,"total_tokens":17}})";

/// Answers every attempt at once, from the thread that started it.
class instant_provider final : public provider {
public:
  std::shared_ptr<attempt_handle> start(provider_request, std::shared_ptr<attempt_listener> listener) override {
    struct handle final : attempt_handle {
      void cancel() noexcept override {}
      bool responded() const noexcept override { return true; }
    };
    provider_result r;
    r.sent = r.responded = true;
    r.status = 200;
    r.headers.add("Content-Type", "application/json");
    r.body = answer_body;
    r.tokens = {.input = 9, .output = 8, .estimated = false};
    listener->on_attempt_done(std::move(r));
    return std::make_shared<handle>();
  }
};

/// A way to submit requests, and what it came to.
struct mode {
  std::string name;
  std::shared_ptr<core> engine;
  enum class key_use { none, fresh, same } key = key_use::none;
  std::vector<double> rates{}, cpu_us{}; ///< per round
};

struct settings {
  std::filesystem::path dir;
  std::size_t requests = 50'000;
  std::size_t in_flight = 64;
  int rounds = 5;
};

std::shared_ptr<core> start(const settings& s, const std::string& name, void (*change)(config&)) {
  config c;
  c.providers["p"].base_url = "http://127.0.0.1:9";
  auto& chat = c.routes["chat"];
  chat.provider = "p";
  chat.model = "m";
  c.telemetry.path = (s.dir / name).string();
  change(c);
  core_options o;
  o.providers["p"] = std::make_shared<instant_provider>();
  o.log = [](log_level level, std::string_view line) {
    if (level >= log_level::warning)
      std::cerr << line << '\n';
  };
  auto started = core::start(std::move(c), std::move(o));
  if (!started)
    throw std::runtime_error(started.error().message);
  return *std::move(started);
}

/// One round: `in_flight` requests at a time until all are answered.
class round_of {
public:
  round_of(mode& m, const settings& s, int number) : mode_(m), settings_(s), number_(number) {}

  void run() {
    const auto cpu = cpu_time();
    const auto begin = clock_type::now();
    for (std::size_t i = 0; i < settings_.in_flight; ++i)
      boost::asio::post(mode_.engine->threads().pick(), [this] { next(); });
    done_.get_future().wait();
    const auto took = std::chrono::duration<double>(clock_type::now() - begin).count();
    const auto n = static_cast<double>(settings_.requests);
    mode_.rates.push_back(n / took);
    mode_.cpu_us.push_back((cpu_time() - cpu) / n * 1e6);
    if (failures_)
      throw std::runtime_error(mode_.name + ": " + std::to_string(failures_) + " requests failed");
  }

private:
  static double cpu_time() {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(u.ru_utime) + seconds(u.ru_stime);
  }

  void next() {
    const auto i = begun_.fetch_add(1, std::memory_order_relaxed);
    if (i >= settings_.requests)
      return;
    submission s;
    s.route = "chat";
    s.operation = "/v1/chat/completions";
    s.path = "/chat/completions";
    s.body = body_;
    s.view = view_;
    if (mode_.key == mode::key_use::fresh)
      s.idempotency_key = "k-" + std::to_string(number_) + "-" + std::to_string(i);
    else if (mode_.key == mode::key_use::same)
      s.idempotency_key = "k-0-" + std::to_string(i);
    mode_.engine->submit(std::move(s), [this](std::shared_ptr<const request_result> r) {
      if (!r->ok())
        failures_.fetch_add(1, std::memory_order_relaxed);
      if (ended_.fetch_add(1, std::memory_order_acq_rel) + 1 == settings_.requests)
        return done_.set_value();
      next();
    });
  }

  mode& mode_;
  const settings& settings_;
  int number_;
  std::shared_ptr<const std::string> body_ =
      std::make_shared<const std::string>(R"({"model":"chat","messages":[{"role":"user","content":"Say hello"}]})");
  openai::request_view view_ = *openai::inspect_request(*body_);
  std::atomic<std::size_t> begun_{0}, ended_{0}, failures_{0};
  std::promise<void> done_;
};

double median(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

void measure(const settings& s) {
  using key_use = mode::key_use;
  const auto process = start(s, "process", [](config&) {});
  const auto power =
      start(s, "power", [](config& c) { c.idempotency.durability = idempotency_settings::durability_mode::power; });
  const auto budgets = start(s, "budgets", [](config& c) {
    budget_settings b;
    b.tokens = std::uint64_t{1} << 50;
    c.budgets.push_back(b);
  });
  const auto cache = start(s, "cache", [](config& c) { c.cache.enabled = true; });
  std::vector<mode> modes{{"without a key", process},
                          {"with a fresh key, durability process", process, key_use::fresh},
                          {"with a fresh key, durability power", power, key_use::fresh},
                          {"replayed", process, key_use::same},
                          {"within a budget", budgets},
                          {"from the cache", cache}};
  // Round 0 warms up, and stores what is replayed.
  for (int round = 0; round <= s.rounds; ++round)
    for (auto& m : modes)
      round_of(m, s, round).run();
  boost::json::object all;
  for (auto& m : modes) {
    m.rates.erase(m.rates.begin());
    m.cpu_us.erase(m.cpu_us.begin());
    all[m.name] = {{"rate", median(m.rates)}, {"cpu_us", median(m.cpu_us)}};
  }
  for (const auto& m : modes)
    m.engine->stop(std::chrono::seconds{5});
  std::cout << boost::json::serialize(all) << '\n';
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"Requests through the runtime, with a provider in the process"};
  settings s;
  app.add_option("--dir", s.dir, "a folder for the stores; on the disk that is to be measured")->required();
  app.add_option("--requests", s.requests, "of a round")->check(CLI::PositiveNumber);
  app.add_option("--in-flight", s.in_flight, "at a time")->check(CLI::PositiveNumber);
  app.add_option("--rounds", s.rounds, "of each mode, after one that warms up")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    measure(s);
  } catch (const std::exception& e) {
    std::cerr << "switchyard-bench-pipeline: " << e.what() << '\n';
    return 1;
  }
}
