#include "top_level.hpp"

#include "switchyard/openai/stream.hpp"

#include <optional>

namespace switchyard::openai {
namespace {

using detail::top_level_members;

// The last member of that name, as most parsers take it. `object` is JSON with an object at its top.
std::optional<top_level_members::member> last_member(std::string_view object, std::string_view name) {
  std::optional<top_level_members::member> last;
  top_level_members members(object);
  for (top_level_members::member m; members.next(m);)
    if (detail::is_key(m.key, name))
      last = m;
  return last;
}

std::optional<top_level_members::member> include_usage(std::string_view stream_options) {
  if (detail::first_token(stream_options) != '{')
    return std::nullopt;
  return last_member(stream_options, "include_usage");
}

std::string replaced(std::string_view body, std::size_t offset, std::size_t size, std::string_view text) {
  std::string out;
  out.reserve(body.size() - size + text.size());
  return out.append(body, 0, offset).append(text).append(body, offset + size);
}

// The object that begins at `offset` with one more member, in front.
std::string with_member(std::string_view body, std::size_t offset, std::string_view member) {
  const std::size_t inside = offset + 1;
  const bool empty = detail::first_token(body.substr(inside)) == '}';
  return replaced(body, inside, 0, std::string(member) + (empty ? "" : ","));
}

} // namespace

bool asks_for_usage(std::string_view body) {
  const auto options = last_member(body, "stream_options");
  const auto asked = options ? include_usage(options->value) : std::nullopt;
  return asked && asked->value == "true";
}

std::string with_usage(std::string_view body) {
  const auto options = last_member(body, "stream_options");
  if (!options)
    return with_member(body, body.find('{'), R"("stream_options":{"include_usage":true})");
  if (options->value == "null")
    return replaced(body, options->offset, options->value.size(), R"({"include_usage":true})");
  if (detail::first_token(options->value) != '{')
    return std::string(body);
  const auto asked = include_usage(options->value);
  if (!asked)
    return with_member(body, options->offset, R"("include_usage":true)");
  if (asked->value == "false" || asked->value == "null")
    return replaced(body, options->offset + asked->offset, asked->value.size(), "true");
  return std::string(body);
}

void ask_for_usage(provider_request& request) {
  const bool has_option = request.path == provider_path(operation::chat_completions) ||
                          request.path == provider_path(operation::completions);
  if (!request.stream || !has_option || !request.body || asks_for_usage(*request.body))
    return;
  auto body = with_usage(*request.body);
  request.usage_injected = asks_for_usage(body);
  request.body = std::make_shared<const std::string>(std::move(body));
}

} // namespace switchyard::openai
