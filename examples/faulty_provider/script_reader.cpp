#include "script.hpp"

#include "script_node.hpp"

#include <boost/json/parser.hpp>

#include <algorithm>
#include <functional>

namespace faulty {
namespace {

namespace json = boost::json;
using boost::system::result;

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
  n.member("stream", [&](const node& m) { read_stream(m, out.stream); });
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
