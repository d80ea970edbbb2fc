#include "json_check.hpp"
#include "top_level.hpp"

#include "switchyard/openai/body.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <charconv>

namespace switchyard::openai {
namespace {

using detail::top_level_members;
using outcome = boost::system::result<request_view, std::string>;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

outcome refuse(std::string text) {
  return outcome(boost::system::in_place_error, std::move(text));
}

std::string at_byte(std::size_t offset) {
  return " at byte " + std::to_string(offset);
}

std::string describe(std::string_view body, const detail::json_fault& fault) {
  if (body.starts_with(byte_order_mark))
    return "the request body begins with a byte order mark; JSON is UTF-8 without one";
  if (const auto offset = detail::invalid_utf8(body))
    return "the request body is not valid UTF-8" + at_byte(*offset);
  if (fault.reason == boost::json::error::too_deep)
    return "the request body is nested deeper than " + std::to_string(max_depth) + " levels" + at_byte(fault.offset);
  return "the request body is not JSON: " + fault.reason.message() + at_byte(fault.offset);
}

std::string_view kind_of(std::string_view value) noexcept {
  switch (detail::first_token(value)) {
  case '{':
    return "an object";
  case '[':
    return "an array";
  case '"':
    return "a string";
  case 't':
  case 'f':
    return "a boolean";
  case 'n':
    return "null";
  default:
    return "a number";
  }
}

enum class key : std::uint8_t { other, model, stream, output_limit };

key key_of(std::string_view raw) {
  if (detail::is_key(raw, "model"))
    return key::model;
  if (detail::is_key(raw, "stream"))
    return key::stream;
  for (const auto limit : {"max_tokens", "max_completion_tokens", "max_output_tokens"})
    if (detail::is_key(raw, limit))
      return key::output_limit;
  return key::other;
}

// The value of a JSON number as a count of tokens; nothing where it is none.
std::optional<std::uint64_t> token_count(std::string_view number) noexcept {
  const char* const end = number.data() + number.size();
  std::uint64_t whole = 0;
  const auto [rest, error] = std::from_chars(number.data(), end, whole);
  if (rest == end && error == std::errc{})
    return std::min(whole, max_output_limit);
  double real = 0; // 1e3, 100.0, or beyond 64 bits
  const auto [real_rest, real_error] = std::from_chars(number.data(), end, real);
  if (real_rest != end || real_error != std::errc{} || number.starts_with('-'))
    return std::nullopt;
  return real < static_cast<double>(max_output_limit) ? static_cast<std::uint64_t>(real) : max_output_limit;
}

// Each takes one member into the view. Returns a text when the request is to be refused.
std::string take_model(const top_level_members::member& m, request_view& view) {
  if (!m.value.starts_with('"'))
    return "\"model\" must be a string, not " + std::string(kind_of(m.value));
  view.model = detail::decode_string(m.value.substr(1, m.value.size() - 2));
  view.model_spans.emplace_back(m.offset, m.value.size());
  return view.model.empty() ? "\"model\" is empty" : std::string();
}

std::string take_stream(const top_level_members::member& m, request_view& view) {
  view.stream = m.value == "true";
  if (view.stream || m.value == "false" || m.value == "null")
    return {};
  return "\"stream\" must be true or false, not " + std::string(kind_of(m.value));
}

std::string take(const top_level_members::member& m, request_view& view) {
  switch (key_of(m.key)) {
  case key::model:
    return take_model(m, view);
  case key::stream:
    return take_stream(m, view);
  case key::output_limit:
    if (const auto tokens = token_count(m.value))
      view.output_limit = std::max(*tokens, view.output_limit.value_or(0));
    return {};
  case key::other:
    break;
  }
  return {};
}

} // namespace

outcome inspect_request(std::string_view body) {
  if (body.find_first_not_of(detail::white_space) == std::string_view::npos)
    return refuse("the request body is empty; a JSON object with a \"model\" is needed");
  if (const auto fault = detail::check_json(body))
    return refuse(describe(body, *fault));
  if (detail::first_token(body) != '{')
    return refuse("the request body must be a JSON object, not " + std::string(kind_of(body)));

  request_view view;
  top_level_members members(body);
  for (top_level_members::member m; members.next(m);)
    if (std::string text = take(m, view); !text.empty())
      return refuse(std::move(text));
  if (view.model_spans.empty())
    return refuse("the request has no \"model\"");

  view.estimated_input_tokens = body.size() / 4;
  view.estimated_tokens = view.estimated_input_tokens + view.output_limit.value_or(default_output_estimate);
  return view;
}

std::string with_model(std::string_view body, const request_view& view, std::string_view model) {
  const std::string quoted = boost::json::serialize(boost::json::string_view(model.data(), model.size()));
  std::string out;
  out.reserve(body.size() + view.model_spans.size() * quoted.size());
  std::size_t kept = 0;
  for (const auto& [offset, length] : view.model_spans) {
    out.append(body, kept, offset - kept).append(quoted);
    kept = offset + length;
  }
  return out.append(body, kept);
}

} // namespace switchyard::openai
