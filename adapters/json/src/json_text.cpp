#include "switchyard/json/json_text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

namespace switchyard {

namespace {

namespace json = boost::json;

void append(std::string& out, const json::value& v);

void append(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out.append("null");
    return;
  }
  std::array<char, 400> digits; // the smallest double needs 326, the largest 310, each with its sign
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed).ptr;
  out.append(digits.data(), end);
}

// What a client sent may be shown to it, whatever its bytes: JSON is UTF-8 all the same.
void append(std::string& out, json::string_view text) {
  auto quoted = json::serialize(text);
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  boost::system::error_code malformed;
  if (!std::all_of(quoted.begin(), quoted.end(), is_ascii) &&
      (static_cast<void>(json::parse(quoted, malformed)), malformed))
    std::replace_if(quoted.begin(), quoted.end(), std::not_fn(is_ascii), '?');
  out.append(quoted);
}

void append(std::string& out, const json::array& a) {
  out.push_back('[');
  const auto* separator = "";
  for (const auto& v : a) {
    out.append(std::exchange(separator, ","));
    append(out, v);
  }
  out.push_back(']');
}

void append(std::string& out, const json::object& o) {
  out.push_back('{');
  const auto* separator = "";
  for (const auto& [key, v] : o) {
    out.append(std::exchange(separator, ","));
    append(out, json::string_view{key.data(), key.size()});
    out.push_back(':');
    append(out, v);
  }
  out.push_back('}');
}

void append(std::string& out, const json::value& v) {
  switch (v.kind()) {
  case json::kind::object:
    return append(out, v.get_object());
  case json::kind::array:
    return append(out, v.get_array());
  case json::kind::string:
    return append(out, json::string_view{v.get_string().data(), v.get_string().size()});
  case json::kind::double_:
    return append(out, v.get_double());
  default:
    out.append(json::serialize(v));
  }
}

} // namespace

std::string to_json_text(const boost::json::object& o) {
  std::string out;
  append(out, o);
  return out;
}

} // namespace switchyard
