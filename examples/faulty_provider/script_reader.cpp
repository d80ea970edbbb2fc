#include "script.hpp"

#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <functional>
#include <initializer_list>

namespace faulty {
namespace {

namespace json = boost::json;
using boost::system::result;

constexpr std::string_view a_duration = "a duration with a unit is expected, such as \"200ms\" or \"1.5s\"";
constexpr std::string_view a_rate = "a number from 0 to 1 is expected";
constexpr std::string_view a_status = "an HTTP status from 200 to 599 is expected";

std::string quoted_list(std::initializer_list<std::string_view> names) {
  std::string out;
  for (const auto name : names)
    out.append(out.empty() ? "\"" : ", \"").append(name).append("\"");
  return out;
}

// A place in the document: its value, its pointer, and where errors go.
class node {
public:
  node(const json::value& value, std::string pointer, script_errors& errors)
      : value_(value), pointer_(std::move(pointer)), errors_(errors) {}

  void fail(std::string_view message) const {
    std::string shown = json::serialize(value_);
    if (shown.size() > 80)
      shown = shown.substr(0, 77) + "...";
    errors_.push_back({pointer_, std::move(shown), std::string(message)});
  }

  /// Whether it is an object with no other keys than these; each wrong key is an error.
  bool object(std::initializer_list<std::string_view> keys) const {
    const auto* o = value_.if_object();
    if (!o)
      return fail("an object is expected"), false;
    for (const auto& [key, value] : *o)
      if (std::ranges::find(keys, std::string_view(key.data(), key.size())) == keys.end())
        node(value, pointer_ + "/" + std::string(key), errors_).fail("unknown key; known are " + quoted_list(keys));
    return true;
  }

  template <class F>
  void member(std::string_view key, F read) const {
    if (const auto* o = value_.if_object())
      if (const auto* v = o->if_contains(json::string_view(key.data(), key.size())))
        read(node(*v, pointer_ + "/" + std::string(key), errors_));
  }

  template <class F>
  void elements(F read) const {
    const auto* a = value_.if_array();
    if (!a)
      return fail("a list is expected");
    for (std::size_t i = 0; i < a->size(); ++i)
      read(node((*a)[i], pointer_ + "/" + std::to_string(i), errors_));
  }

  bool has(std::string_view key) const {
    return value_.is_object() && value_.get_object().contains(json::string_view(key.data(), key.size()));
  }

  void read(duration& out) const {
    const auto* s = value_.if_string();
    if (const auto d = s ? switchyard::parse_duration(std::string_view(s->data(), s->size())) : std::nullopt)
      out = *d;
    else
      fail(a_duration);
  }
  void read(std::optional<duration>& out) const { read(out.emplace()); }

  void read(std::string& out) const {
    if (const auto* s = value_.if_string(); s && !s->empty())
      out.assign(s->data(), s->size());
    else
      fail("a non-empty text is expected");
  }

  void rate(double& out) const { number(out, 0, 1, a_rate); }

  void number(double& out, double low, double high, std::string_view accepted) const {
    json::error_code ec;
    const double d = value_.to_number<double>(ec);
    if (ec || !(d >= low && d <= high))
      return fail(accepted);
    out = d;
  }

  void status(int& out) const {
    json::error_code ec;
    const int status = value_.to_number<int>(ec);
    if (ec || status < 200 || status > 599)
      return fail(a_status);
    out = status;
  }

  template <class Enum, class Names>
  void one_of(Enum& out, const Names& names) const {
    const auto* s = value_.if_string();
    for (std::size_t i = 0; s && i < names.size(); ++i)
      if (names[i] == std::string_view(s->data(), s->size())) {
        out = static_cast<Enum>(i);
        return;
      }
    std::string known;
    for (const auto name : names)
      known.append(known.empty() ? "\"" : ", \"").append(name).append("\"");
    fail("one of " + known + " is expected");
  }

  script_errors& errors() const noexcept { return errors_; }

private:
  const json::value& value_;
  std::string pointer_;
  script_errors& errors_;
};

// Reads a member into a field when it is there.
template <class T>
auto into(T& field) {
  return [&field](const node& n) { n.read(field); };
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

void read_error(const node& n, error_script& out) {
  if (!n.object({"status", "rate", "retry_after", "code", "message"}))
    return;
  n.member("status", [&](const node& m) { m.status(out.status); });
  n.member("rate", [&](const node& m) { m.rate(out.rate); });
  n.member("retry_after", into(out.retry_after));
  n.member("code", into(out.code));
  n.member("message", into(out.message));
  if (!n.has("status") || !n.has("rate"))
    n.fail("\"status\" and \"rate\" are needed");
}

void read_outage_members(const node& n, outage& out) {
  n.member("kind", [&](const node& m) { m.one_of(out.kind, outage_kind_names); });
  n.member("status", [&](const node& m) { m.status(out.status); });
  n.member("retry_after", into(out.retry_after));
  if (out.kind != outage_kind::status && (n.has("status") || n.has("retry_after")))
    n.fail("\"status\" and \"retry_after\" go with the kind \"status\" only");
}

void read_scheduled_outage(const node& n, scheduled_outage& out) {
  if (!n.object({"after", "for", "every", "kind", "status", "retry_after"}))
    return;
  n.member("after", into(out.after));
  n.member("for", into(out.length));
  n.member("every", into(out.every));
  read_outage_members(n, out.what);
  if (out.every && (!out.length || *out.length >= *out.every))
    n.fail("\"every\" needs a \"for\" that is shorter");
}

void read_faults(const node& n, fault_rates& out) {
  if (!n.object(
          {"reset", "silence", "empty_body", "malformed_body", "no_content", "error_in_200", "close_without_answer"}))
    return;
  for (std::size_t i = 0; i < fault_names.size(); ++i)
    n.member(fault_names[i], [&](const node& m) { m.rate(out[i]); });
}

void check_sum(const script& s, script_errors& errors) {
  double sum = 0;
  for (const auto& e : s.errors)
    sum += e.rate;
  for (const double rate : s.faults)
    sum += rate;
  constexpr double rounding = 1e-9; // ten times 0.1 is more than 1
  if (sum > 1 + rounding)
    errors.push_back(
        {"", "",
         "the rates of all errors and faults together must not be more than 1, and are " + std::to_string(sum)});
}

void read_root(const node& n, script& out) {
  if (!n.object({"latency", "errors", "faults", "outages", "models", "stream"}))
    return;
  n.member("latency", [&](const node& m) { read_latency(m, out.latency); });
  n.member("errors",
           [&](const node& m) { m.elements([&](const node& e) { read_error(e, out.errors.emplace_back()); }); });
  n.member("faults", [&](const node& m) { read_faults(m, out.faults); });
  n.member("outages", [&](const node& m) {
    m.elements([&](const node& e) { read_scheduled_outage(e, out.outages.emplace_back()); });
  });
  n.member("models", [&](const node& m) { m.elements([&](const node& e) { e.read(out.models.emplace_back()); }); });
  n.member("stream", [&](const node& m) {
    if (m.object({"interval"}))
      m.member("interval", into(out.stream_interval));
  });
  if (n.errors().empty())
    check_sum(out, n.errors());
}

script_error syntax_error(std::string_view text, std::size_t offset, const json::error_code& reason) {
  const auto before = text.substr(0, offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const auto newline = before.rfind('\n');
  const auto column = newline == std::string_view::npos ? offset + 1 : offset - newline;
  return {"", "",
          "not JSON: " + reason.message() + " at line " + std::to_string(line) + ", column " + std::to_string(column)};
}

template <class T>
result<T, script_errors> read_document(std::string_view text, const std::function<void(const node&, T&)>& read) {
  json::parse_options options;
  options.allow_comments = true;
  options.allow_trailing_commas = true;
  json::parser parser({}, options);
  json::error_code ec;
  const std::size_t offset = parser.write_some(text.data(), text.size(), ec);
  if (!ec && offset < text.size())
    ec = json::make_error_code(json::error::extra_data);
  if (ec)
    return {boost::system::in_place_error, script_errors{syntax_error(text, offset, ec)}};
  T out;
  script_errors errors;
  const json::value document = parser.release();
  read(node(document, "", errors), out);
  if (!errors.empty())
    return {boost::system::in_place_error, std::move(errors)};
  return {boost::system::in_place_value, std::move(out)};
}

} // namespace

result<script, script_errors> read_script(std::string_view text) {
  return read_document<script>(text, read_root);
}

result<outage, script_errors> read_outage(std::string_view text) {
  if (text.empty())
    return outage{};
  return read_document<outage>(text, [](const node& n, outage& out) {
    if (n.object({"kind", "status", "retry_after"}))
      read_outage_members(n, out);
  });
}

} // namespace faulty
