// switchyard-demo: a real outage, survived before your eyes. Starts two providers and the gateway, drives traffic,
// takes the primary down and up again, and says at each step what was observed. Exit status 0 only if each step was.

#include "stage.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <set>
#include <string>

namespace {

using demo::answer;
using demo::stage;

class tour {
public:
  explicit tour(const demo::programs& p) : s_(p) {}

  bool run() {
    std::cout << "\nA gateway at " << s_.gateway() << " in front of two providers, primary and backup.\n"
              << "The primary's circuit opens after " << demo::threshold << " failures in a row and rests for "
              << demo::cooldown.count() / 1000 << " s.\n\n";
    normal_service();
    outage();
    resting();
    probe_of_many();
    recovery();
    one_call_for_a_key();
    table();
    return all_seen_;
  }

private:
  void normal_service() {
    heading("Normal service");
    const auto by_primary = served_by("primary", 20);
    expect(by_primary == 20, "20 requests, " + std::to_string(by_primary) + " answered by the primary");
  }

  void outage() {
    heading("The primary goes down: every request is answered with 503");
    s_.control_primary("down");
    const auto before = s_.requests(true);
    int answered = 0;
    for (int i = 1; i <= demo::threshold; ++i) {
      const auto a = s_.ask();
      answered += a.status == 200;
      line("request " + std::to_string(i) + ": HTTP " + std::to_string(a.status) + " by " +
           a.header("x-switchyard-provider") + " after " + a.header("x-switchyard-attempts") + " attempts; circuit " +
           s_.circuit_state());
    }
    expect(answered == demo::threshold,
           "no client saw the outage: all " + std::to_string(demo::threshold) + " got their answer");
    expect(s_.circuit_state() == "open", "the circuit opened");
    expect(s_.requests(true) - before == demo::threshold,
           "after exactly " + std::to_string(demo::threshold) + " failures");
  }

  void resting() {
    heading("The circuit is open");
    const auto before = s_.requests(true);
    const auto by_backup = served_by("backup", 20);
    expect(by_backup == 20, "20 requests, all answered by the backup at once");
    expect(s_.requests(true) == before, "the primary got none of them");
  }

  void probe_of_many() {
    heading("The cooldown ends, the primary is still down");
    expect(stage::eventually([&] { return s_.circuit_state() == "half_open"; }),
           "the circuit is half-open, with no traffic needed");
    const auto before = s_.requests(true);
    const auto answers = s_.ask_at_once(50);
    const auto good = std::count_if(answers.begin(), answers.end(), [](const answer& a) { return a.status == 200; });
    const auto probes = s_.requests(true) - before;
    expect(probes == 1, "50 requests at once: " + std::to_string(probes) + " went out as a probe");
    expect(good == 50, "all 50 were answered");
    expect(s_.circuit_state() == "open", "the probe failed, the circuit is open again");
  }

  void recovery() {
    heading("The primary comes back");
    s_.control_primary("up");
    expect(stage::eventually([&] { return s_.circuit_state() == "half_open"; }), "the circuit is half-open again");
    expect(s_.ask().header("x-switchyard-provider") == "primary", "one probe succeeds");
    expect(stage::eventually([&] { return s_.circuit_state() == "closed"; }), "the circuit closed");
    const auto by_primary = served_by("primary", 20);
    expect(by_primary == 20, "20 requests, " + std::to_string(by_primary) + " answered by the primary");
  }

  void one_call_for_a_key() {
    heading("One idempotency key, submitted 100 times at once");
    const auto before = s_.requests(true);
    const auto answers = s_.ask_at_once(100, {{"Idempotency-Key", "order-17"}});
    std::set<std::string> bodies;
    for (const auto& a : answers)
      bodies.insert(std::to_string(a.status) + a.body);
    const auto calls = s_.requests(true) - before;
    expect(calls == 1, std::to_string(calls) + " call upstream");
    expect(bodies.size() == 1 && answers.front().status == 200, "100 equal answers");
    expect(s_.ask({{"Idempotency-Key", "order-17"}}).header("idempotency-replayed") == "true",
           "submitted once more: replayed from the store");
  }

  void table() {
    std::cout << "\nWhat the providers saw\n\n";
    std::printf("  %-10s %9s %9s %9s\n", "provider", "requests", "HTTP 200", "HTTP 503");
    for (const bool primary : {true, false}) {
      const auto stats = s_.stats(primary);
      const auto& by_status = stats.at("by_status").as_object();
      const auto count = [&](const char* status) {
        const auto* found = by_status.if_contains(status);
        return found ? found->to_number<long long>() : 0ll;
      };
      std::printf("  %-10s %9lld %9lld %9lld\n", primary ? "primary" : "backup",
                  stats.at("requests").to_number<long long>(), count("200"), count("503"));
    }
    std::cout << '\n' << (all_seen_ ? "Every step was observed." : "NOT every step was observed.") << std::endl;
  }

  int served_by(const std::string& provider, int requests) const {
    int count = 0;
    for (int i = 0; i < requests; ++i) {
      const auto a = s_.ask();
      count += a.status == 200 && a.header("x-switchyard-provider") == provider;
    }
    return count;
  }

  static void heading(const std::string& text) { std::cout << text << '\n'; }
  static void line(const std::string& text) { std::cout << "      " << text << std::endl; }
  void expect(bool seen, const std::string& what) {
    std::cout << (seen ? "  ok  " : "  NO  ") << what << std::endl;
    all_seen_ = all_seen_ && seen;
  }

  stage s_;
  bool all_seen_ = true;
};

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"Watch Switchyard survive an outage", "switchyard-demo"};
  demo::programs programs;
  app.add_option("--gateway", programs.gateway, "the switchyard-gateway program")->required()->check(CLI::ExistingFile);
  app.add_option("--provider", programs.provider, "the switchyard-faulty-provider program")
      ->required()
      ->check(CLI::ExistingFile);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return tour{programs}.run() ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << "switchyard-demo: " << e.what() << '\n';
    return 1;
  }
}
