#include "json_places.hpp"

namespace switchyard::openai::detail {
namespace {

struct named_key {
  std::string_view name;
  key value;
};

constexpr named_key keys[] = {
    {"arguments", key::arguments},
    {"audio", key::audio},
    {"choices", key::choices},
    {"code", key::code},
    {"completion_tokens", key::completion_tokens},
    {"content", key::content},
    {"data", key::data},
    {"delta", key::delta},
    {"detail", key::detail},
    {"error", key::error},
    {"finish_reason", key::finish_reason},
    {"function", key::function},
    {"function_call", key::function_call},
    {"index", key::index},
    {"input_tokens", key::input_tokens},
    {"item", key::item},
    {"message", key::message},
    {"name", key::name},
    {"output", key::output},
    {"output_tokens", key::output_tokens},
    {"part", key::part},
    {"prompt_tokens", key::prompt_tokens},
    {"reasoning_content", key::reasoning_content},
    {"refusal", key::refusal},
    {"response", key::response},
    {"status", key::status},
    {"summary", key::summary},
    {"text", key::text},
    {"tool_calls", key::tool_calls},
    {"type", key::type},
    {"usage", key::usage},
};

} // namespace

key key_of(std::string_view name) noexcept {
  for (const auto& k : keys)
    if (k.name == name)
      return k.value;
  return key::other;
}

} // namespace switchyard::openai::detail
