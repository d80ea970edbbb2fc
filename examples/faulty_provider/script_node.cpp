#include "script_node.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>

namespace faulty {
namespace {

namespace json = boost::json;

std::string quoted_list(std::initializer_list<std::string_view> names) {
  std::string out;
  for (const auto name : names)
    out.append(out.empty() ? "\"" : ", \"").append(name).append("\"");
  return out;
}

} // namespace

void node::fail(std::string_view message) const {
  std::string shown = json::serialize(value_);
  if (shown.size() > 80)
    shown = shown.substr(0, 77) + "...";
  errors_.push_back({pointer_, std::move(shown), std::string(message)});
}

bool node::object(std::initializer_list<std::string_view> keys) const {
  const auto* o = value_.if_object();
  if (!o)
    return fail("an object is expected"), false;
  for (const auto& [key, value] : *o)
    if (std::ranges::find(keys, std::string_view(key.data(), key.size())) == keys.end())
      node(value, pointer_ + "/" + std::string(key), errors_).fail("unknown key; known are " + quoted_list(keys));
  return true;
}

bool node::has(std::string_view key) const {
  return value_.is_object() && value_.get_object().contains(json::string_view(key.data(), key.size()));
}

void node::read(duration& out) const {
  const auto* s = value_.if_string();
  if (const auto d = s ? switchyard::parse_duration(std::string_view(s->data(), s->size())) : std::nullopt)
    out = *d;
  else
    fail("a duration with a unit is expected, such as \"200ms\" or \"1.5s\"");
}

void node::read(std::string& out) const {
  if (const auto* s = value_.if_string(); s && !s->empty())
    out.assign(s->data(), s->size());
  else
    fail("a non-empty text is expected");
}

void node::read(bool& out) const {
  if (const auto* b = value_.if_bool())
    out = *b;
  else
    fail("true or false is expected");
}

void node::rate(double& out) const {
  number(out, 0, 1, "a number from 0 to 1 is expected");
}

void node::status(int& out) const {
  json::error_code ec;
  const int status = value_.to_number<int>(ec);
  if (ec || status < 200 || status > 599)
    return fail("an HTTP status from 200 to 599 is expected");
  out = status;
}

void node::number(double& out, double low, double high, std::string_view accepted) const {
  json::error_code ec;
  const double d = value_.to_number<double>(ec);
  if (ec || !(d >= low && d <= high))
    return fail(accepted);
  out = d;
}

bool node::whole(std::size_t& out, std::size_t low, std::size_t high, std::string_view or_else) const {
  json::error_code ec;
  const auto n = value_.to_number<std::uint64_t>(ec);
  if (ec || n < low || n > high) {
    fail("a whole number from " + std::to_string(low) + " to " + std::to_string(high) + std::string(or_else) +
         " is expected");
    return false;
  }
  out = static_cast<std::size_t>(n);
  return true;
}

bool node::is_text(std::string_view text) const noexcept {
  const auto* s = value_.if_string();
  return s && std::string_view(s->data(), s->size()) == text;
}

void read_latency(const node& n, latency_script& out) {
  if (!n.object({"distribution", "mean", "min", "max", "sigma"}))
    return;
  n.member("distribution", [&](const node& m) { m.one_of(out.shape, distribution_names); });
  n.member("mean", into(out.mean));
  n.member("min", into(out.min));
  n.member("max", into(out.max));
  n.member("sigma", [&](const node& m) { m.number(out.sigma, 0, 10, "a number from 0 to 10 is expected"); });
  if (out.min > out.max)
    n.fail("\"min\" must not be more than \"max\"");
  if (out.shape == distribution::uniform && !n.has("max"))
    n.fail("\"uniform\" needs \"max\"");
  if (out.shape == distribution::uniform && n.has("mean"))
    n.fail("\"uniform\" takes \"min\" and \"max\", no \"mean\"");
  if (out.shape != distribution::uniform && !n.has("mean"))
    n.fail("\"mean\" is needed");
}

} // namespace faulty
