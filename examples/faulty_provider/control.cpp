#include "control.hpp"

#include "service.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>

namespace faulty {
namespace {

namespace json = boost::json;

void reply_errors(http::exchange& x, const script_errors& errors) {
  json::array list;
  for (const auto& e : errors)
    list.emplace_back(json::object{{"pointer", e.pointer}, {"value", e.value}, {"message", e.message}});
  reply_json(x, 400, json::serialize(json::object{{"errors", std::move(list)}}));
}

void reply_state(service& s, http::exchange& x) {
  const auto& down = s.manual_outage();
  reply_json(x, 200,
             json::serialize(json::object{{"down", down ? to_json(*down) : json::value(nullptr)},
                                          {"holding", s.holding()},
                                          {"held", s.held()}}));
}

void get_script(service& s, http::exchange& x) {
  reply_json(x, 200, json::serialize(to_json(s.current_script())));
}

void put_script(service& s, http::exchange& x) {
  auto read = read_script(x.request().body);
  if (!read)
    return reply_errors(x, read.error());
  s.replace_script(std::move(*read));
  get_script(s, x);
}

void down(service& s, http::exchange& x) {
  auto read = read_outage(x.request().body);
  if (!read)
    return reply_errors(x, read.error());
  s.set_outage(*read);
  reply_state(s, x);
}

void up(service& s, http::exchange& x) {
  s.set_outage(std::nullopt);
  reply_state(s, x);
}

void hold(service& s, http::exchange& x) {
  s.hold();
  reply_state(s, x);
}

void release(service& s, http::exchange& x) {
  s.release();
  reply_state(s, x);
}

void get_stats(service& s, http::exchange& x) {
  auto stats = s.stats().to_json();
  stats["held"] = s.held();
  reply_json(x, 200, json::serialize(stats));
}

void reset_stats(service& s, http::exchange& x) {
  s.stats().reset();
  get_stats(s, x);
}

struct control {
  std::string_view method, path;
  void (*run)(service&, http::exchange&);
};

constexpr control controls[] = {
    {"GET", "/control/script", get_script}, {"PUT", "/control/script", put_script},
    {"POST", "/control/down", down},        {"POST", "/control/up", up},
    {"POST", "/control/hold", hold},        {"POST", "/control/release", release},
    {"GET", "/control/stats", get_stats},   {"POST", "/control/stats/reset", reset_stats},
};

} // namespace

bool handle_control(service& s, http::exchange& x) {
  const auto& request = x.request();
  if (!request.path.starts_with("/control/"))
    return false;
  bool known_path = false;
  for (const auto& c : controls) {
    if (c.path != request.path)
      continue;
    known_path = true;
    if (c.method == request.method) {
      c.run(s, x);
      return true;
    }
  }
  if (known_path)
    reply_error(x, 405, request.method + " is not for " + request.path, "method_not_allowed");
  else
    reply_error(x, 404, "no such path: " + request.path, "not_found");
  return true;
}

} // namespace faulty
