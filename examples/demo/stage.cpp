#include "stage.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <fstream>
#include <future>
#include <latch>
#include <stdexcept>
#include <thread>

namespace demo {

namespace json = boost::json;

namespace {

json::object get(const std::string& base, const std::string& path) {
  const auto a = call(base, "GET", path);
  if (a.status != 200)
    throw std::runtime_error("GET " + path + " was answered with " + std::to_string(a.status) + ": " + a.body);
  return json::parse(a.body).as_object();
}

} // namespace

stage::stage(const programs& p) {
  const auto log = [this](const char* name) { return folder_.path() / (std::string{name} + ".log"); };
  primary_ = std::make_unique<process>(
      std::vector<std::string>{p.provider, "--listen", "127.0.0.1:0", "--name", "primary"}, log("primary"));
  backup_ = std::make_unique<process>(
      std::vector<std::string>{p.provider, "--listen", "127.0.0.1:0", "--name", "backup"}, log("backup"));
  primary_url_ = primary_->ready_value("provider");
  backup_url_ = backup_->ready_value("provider");
  gateway_ = std::make_unique<process>(std::vector<std::string>{p.gateway, "--config", write_config(), "--listen",
                                                                "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data-dir",
                                                                (folder_.path() / "data").string()},
                                       log("gateway"));
  gateway_url_ = gateway_->ready_value("gateway");
  admin_url_ = gateway_->ready_value("admin");
}

std::string stage::write_config() const {
  const json::object circuit{{"consecutive_failures", threshold},
                             {"cooldown", std::to_string(cooldown.count()) + "ms"}};
  const json::object once{{"max_attempts", 1}}; // so that the counts below are those of requests
  const json::object config{
      {"circuits", {{"default", circuit}}},
      {"providers",
       {{"primary", {{"base_url", primary_url_ + "/v1"}}}, {"backup", {{"base_url", backup_url_ + "/v1"}}}}},
      {"routes",
       {{"chat", {{"provider", "primary"}, {"model", "primary-model"}, {"fallback", {"chat-backup"}}, {"retry", once}}},
        {"chat-backup", {{"provider", "backup"}, {"model", "backup-model"}, {"retry", once}}}}}};
  const auto path = folder_.path() / "switchyard.json";
  std::ofstream{path} << json::serialize(config);
  return path.string();
}

answer stage::ask(const std::map<std::string, std::string>& headers) const {
  static const std::string body = R"({"model":"chat","messages":[{"role":"user","content":"Say hello"}]})";
  return call(gateway_url_, "POST", "/v1/chat/completions", body, headers);
}

std::vector<answer> stage::ask_at_once(int count, const std::map<std::string, std::string>& headers) const {
  std::latch go{count};
  std::vector<std::future<answer>> pending;
  for (int i = 0; i < count; ++i)
    pending.push_back(std::async(std::launch::async, [&] {
      go.arrive_and_wait();
      return ask(headers);
    }));
  std::vector<answer> answers;
  for (auto& p : pending)
    answers.push_back(p.get());
  return answers;
}

void stage::control_primary(const std::string& command) const {
  const auto a = call(primary_url_, "POST", "/control/" + command);
  if (a.status / 100 != 2)
    throw std::runtime_error("the provider refuses " + command + ": " + a.body);
}

json::object stage::stats(bool primary) const {
  return get(primary ? primary_url_ : backup_url_, "/control/stats");
}

std::int64_t stage::requests(bool primary) const {
  return stats(primary).at("requests").to_number<std::int64_t>();
}

std::int64_t stage::held_by_primary() const {
  return stats(true).at("in_flight").to_number<std::int64_t>();
}

std::string stage::circuit_state() const {
  const auto all = get(admin_url_, "/admin/circuits");
  for (const auto& c : all.at("circuits").as_array())
    if (c.at("id").as_string() == "primary")
      return std::string{c.at("state").as_string()};
  throw std::runtime_error("the gateway has no circuit for the primary");
}

bool stage::eventually(const std::function<bool()>& seen, std::chrono::seconds limit) {
  for (const auto end = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < end;) {
    if (seen())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{25}); // a poll over HTTP
  }
  return seen();
}

} // namespace demo
