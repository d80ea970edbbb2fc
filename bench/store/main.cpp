// What a reserve costs in a store of few and of many keys [I12]: both stores are open in one process, and rounds of
// both take turns. Prints a JSON object.

#include "switchyard/rocksdb/database.hpp"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace switchyard;
using clock_type = std::chrono::steady_clock;

struct settings {
  std::filesystem::path dir;
  std::vector<std::uint64_t> keys{10'000, 10'000'000};
  std::uint64_t operations = 20'000; ///< of a kind, in a round
  int rounds = 5;
  std::size_t body = 200;
};

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

double resident_mib() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:"))
      return static_cast<double>(std::stoull(line.substr(6))) / 1024;
  return 0;
}

double disk_mib(const std::filesystem::path& dir) {
  std::uintmax_t bytes = 0;
  for (const auto& e : std::filesystem::recursive_directory_iterator(dir))
    if (e.is_regular_file())
      bytes += e.file_size();
  return static_cast<double>(bytes) / (1 << 20);
}

std::string scope_of(std::uint64_t i) {
  // Keys are random in practice: neighbours in time are none in the store.
  return idempotency_scope{"acme", "/v1/chat/completions", "order-" + std::to_string(i * 0x9e3779b97f4a7c15ull)}.str();
}

stored_answer answer(std::size_t body, std::mt19937_64* random = nullptr) {
  stored_answer a;
  a.content_type = "application/json";
  // Hexadecimal digits: they compress about as well as prose.
  static constexpr std::string_view digits = "0123456789abcdef";
  while (random && a.body.size() < body)
    for (auto bits = (*random)(); bits > 0; bits >>= 4)
      a.body.push_back(digits[bits & 15]);
  a.stored_at = wall_time(std::chrono::system_clock::now().time_since_epoch());
  a.ttl = std::chrono::hours{24};
  return a;
}

stored_answer reservation() {
  auto a = answer(0);
  a.reserved = true;
  return a;
}

void check(const store_result<void>& done) {
  if (!done)
    throw std::runtime_error(done.error().message);
}

/// One store, and how long its operations took.
class measured_store {
public:
  measured_store(const settings& s, std::uint64_t keys)
      : settings_(s), dir_(s.dir / std::to_string(keys)), keys_(keys), random_(keys) {}

  void fill() {
    const auto begin = clock_type::now();
    open();
    constexpr std::uint64_t batch = 1000;
    std::vector<key_change> changes;
    for (std::uint64_t i = 0; i < keys_; ++i) {
      changes.push_back({scope_of(i), std::make_shared<const stored_answer>(answer(settings_.body, &random_))});
      if (changes.size() == batch || i + 1 == keys_) {
        check(answers_->write(changes));
        changes.clear();
      }
      if (i > 0 && i % 1'000'000 == 0)
        std::cerr << keys_ << " keys: " << i << " filled\n";
    }
    fill_seconds_ = seconds_since(begin);
    // As a store is that has grown in the course of days: its files are in order. What is on its way from level to
    // level after a minute of nothing but writes is no state that a gateway is ever in.
    if (const auto ordered = database_->compact(); !ordered)
      throw std::runtime_error(ordered.error().message);
    close();
  }

  void open() {
    const auto begin = clock_type::now();
    auto opened = store::database::open(dir_, {});
    if (!opened)
      throw std::runtime_error(opened.error().message);
    database_ = *std::move(opened);
    answers_ = database_->answers();
    open_seconds_ = seconds_since(begin);
  }

  void close() {
    answers_.reset();
    database_.reset();
  }

  /// Reserves of keys that were never used, whose runs then fail; and of keys that have an answer.
  void round(bool warm_up) {
    std::vector<double> fresh, replays;
    const auto reserved = std::make_shared<const stored_answer>(reservation());
    for (std::uint64_t i = 0; i < settings_.operations; ++i) {
      const auto scope = scope_of(keys_ + next_++);
      const auto begin = clock_type::now();
      const auto found = answers_->find(scope);
      const key_change change{scope, reserved};
      const auto written = answers_->write({&change, 1});
      fresh.push_back(seconds_since(begin) * 1e6);
      if (!found || *found || !written)
        throw std::runtime_error("a fresh key is not free");
      const key_change gone{scope, nullptr};
      check(answers_->write({&gone, 1}));
    }
    for (std::uint64_t i = 0; i < settings_.operations; ++i) {
      const auto scope = scope_of(random_() % keys_);
      const auto begin = clock_type::now();
      const auto found = answers_->find(scope);
      replays.push_back(seconds_since(begin) * 1e6);
      if (!found || !*found)
        throw std::runtime_error("an answer is not there");
    }
    if (warm_up)
      return;
    note(fresh, fresh_);
    note(replays, replays_);
  }

  boost::json::object result(double resident) const {
    const auto figures = [](const std::vector<std::pair<double, double>>& rounds) {
      std::vector<double> p50, p99;
      for (const auto& r : rounds) {
        p50.push_back(r.first);
        p99.push_back(r.second);
      }
      return boost::json::object{{"p50_us", quantile(p50, 0.5)}, {"p99_us", quantile(p99, 0.5)}};
    };
    return {{"keys", keys_},
            {"reserve", figures(fresh_)},
            {"replay", figures(replays_)},
            {"fill_seconds", fill_seconds_},
            {"open_seconds", open_seconds_},
            {"disk_mib", disk_mib(dir_)},
            {"resident_mib", resident}};
  }

private:
  static double quantile(std::vector<double> v, double q) {
    const auto at = v.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(v.size() - 1));
    std::nth_element(v.begin(), at, v.end());
    return *at;
  }
  static void note(const std::vector<double>& all, std::vector<std::pair<double, double>>& rounds) {
    rounds.emplace_back(quantile(all, 0.5), quantile(all, 0.99));
  }

  const settings& settings_;
  std::filesystem::path dir_;
  std::uint64_t keys_;
  std::mt19937_64 random_;
  std::uint64_t next_ = 0;
  std::shared_ptr<store::database> database_;
  std::shared_ptr<answer_store> answers_;
  double fill_seconds_ = 0, open_seconds_ = 0;
  std::vector<std::pair<double, double>> fresh_, replays_; ///< p50 and p99 by round
};

void measure(const settings& s) {
  std::vector<measured_store> stores;
  stores.reserve(s.keys.size());
  for (const auto keys : s.keys)
    stores.emplace_back(s, keys).fill();
  std::vector<double> resident;
  for (auto& store : stores) { // one alone at first, for its memory
    const auto before = resident_mib();
    store.open();
    store.round(true);
    resident.push_back(resident_mib() - before);
    store.close();
  }
  for (auto& store : stores)
    store.open();
  for (int round = 0; round <= s.rounds; ++round)
    for (auto& store : stores)
      store.round(round == 0);
  boost::json::object all;
  for (std::size_t i = 0; i < stores.size(); ++i)
    all[std::to_string(s.keys[i])] = stores[i].result(resident[i]);
  std::cout << boost::json::serialize(all) << '\n';
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"What a reserve costs in a store of few and of many keys"};
  settings s;
  app.add_option("--dir", s.dir, "a folder for the stores; ten million keys take some 3 GiB")->required();
  app.add_option("--keys", s.keys, "how many keys the stores have");
  app.add_option("--operations", s.operations, "of a kind, in a round")->check(CLI::PositiveNumber);
  app.add_option("--rounds", s.rounds, "of each store, after one that warms up")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    measure(s);
  } catch (const std::exception& e) {
    std::cerr << "switchyard-bench-store: " << e.what() << '\n';
    return 1;
  }
}
