#include "switchyard/engine/failure.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace switchyard {

namespace {

// The F table, row by row in the order of the enumerators.
// clang-format off
constexpr std::array<failure_traits, failure_class_count> table{{
    //                 retried falls  trips  health
    {"connection",     true,   true,  true,  true},
    {"timeout",        false,  true,  true,  true},
    {"rate_limit",     false,  true,  true,  true},
    {"server_error",   true,   true,  true,  true},
    {"empty_response", true,   true,  true,  true},
    {"soft_failure",   true,   true,  true,  true},
    {"auth",           false,  false, false, false},
    {"context_length", false,  false, false, false},
    {"content_policy", false,  false, false, false},
    {"client_error",   false,  false, false, false},
    {"configuration",  false,  false, false, false},
    {"circuit_open",   false,  true,  false, false},
    {"overloaded",     false,  true,  false, false},
    {"budget",         false,  false, false, false},
    {"cancelled",      false,  false, false, false},
    {"deadline",       false,  false, false, false},
    {"unknown",        false,  false, false, false},
}};
// clang-format on
static_assert(static_cast<std::size_t>(failure_class::unknown) + 1 == table.size());

// Codes and types by which providers name these two refusals of an input.
constexpr std::array<std::string_view, 4> context_length_codes{
    "context_length_exceeded",
    "string_above_max_length",
    "exceed_context_size_error",
    "max_context_length_exceeded",
};
constexpr std::array<std::string_view, 6> content_policy_codes{
    "content_policy_violation", "content_filter",         "responsibleaipolicyviolation",
    "moderation_blocked",       "data_inspection_failed", "content_policy",
};

// Wordings of providers that send no code of their own. Each is a turn of phrase of an error, not a topic, so that a
// message which merely quotes some word of the input is not taken for one. In lower case.
constexpr std::array<std::string_view, 10> context_length_phrases{
    "maximum context length",
    "maximum prompt length",
    "prompt is too long",
    "input is too long",
    "exceed context limit",
    "exceeds the context window",
    "exceeds the available context size",
    "exceeds the maximum number of tokens allowed",
    "number of tokens in the prompt exceeds",
    "reduce the length of the messages",
};
constexpr std::array<std::string_view, 7> content_policy_phrases{
    "content management policy",   "content filtering policy",   "our safety system",         "by the safety system",
    "violates our content policy", "violating our usage policy", "flagged by our moderation",
};

// A provider's own wording stands at the beginning of its message; what follows far behind is echo.
constexpr std::size_t message_prefix = 1024;

// <cctype> asks the locale; these do not.
constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool alphanumeric(char c) noexcept {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

constexpr bool same_letter(char a, char b) noexcept {
  return lower(a) == lower(b);
}

bool is_one_of(std::string_view text, std::span<const std::string_view> list) noexcept {
  return std::ranges::any_of(list,
                             [text](std::string_view entry) { return std::ranges::equal(text, entry, same_letter); });
}

bool contains_one_of(std::string_view text, std::span<const std::string_view> phrases) noexcept {
  return std::ranges::any_of(phrases, [text](std::string_view phrase) {
    return std::search(text.begin(), text.end(), phrase.begin(), phrase.end(), same_letter) != text.end();
  });
}

// Whether a quotation opens or closes at `i`. An apostrophe inside or at the end of a word opens none.
bool opens_quotation(std::string_view text, std::size_t i) noexcept {
  return text[i] == '"' || (text[i] == '\'' && (i == 0 || !alphanumeric(text[i - 1])));
}
bool closes_quotation(std::string_view text, std::size_t i, char mark) noexcept {
  return text[i] == mark && (mark == '"' || i + 1 == text.size() || !alphanumeric(text[i + 1]));
}

// Whether one of the phrases stands outside of quotation marks: what a provider quotes is the caller's input.
bool says_one_of(std::string_view message, std::span<const std::string_view> phrases) noexcept {
  message = message.substr(0, message_prefix);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (!opens_quotation(message, i))
      continue;
    if (contains_one_of(message.substr(begin, i - begin), phrases))
      return true;
    const char mark = message[i];
    do
      ++i;
    while (i < message.size() && !closes_quotation(message, i, mark));
    begin = std::min(i + 1, message.size());
  }
  return contains_one_of(message.substr(begin), phrases);
}

// The class of a 400, 413 or 422: by code, else by type, else by wording.
failure_class classify_refused_input(const answer_facts& facts) noexcept {
  for (auto name : {facts.error_code, facts.error_type}) {
    if (is_one_of(name, context_length_codes))
      return failure_class::context_length;
    if (is_one_of(name, content_policy_codes))
      return failure_class::content_policy;
  }
  if (says_one_of(facts.error_message, context_length_phrases))
    return failure_class::context_length;
  if (says_one_of(facts.error_message, content_policy_phrases))
    return failure_class::content_policy;
  return failure_class::client_error;
}

std::optional<failure_class> classify_2xx(const answer_facts& facts) noexcept {
  using body_kind = answer_facts::body_kind;
  if (facts.error_object)
    return failure_class::soft_failure;
  if (facts.body == body_kind::empty)
    return failure_class::empty_response;
  if (facts.json_promised && facts.body == body_kind::not_json)
    return failure_class::soft_failure;
  if (!facts.usable)
    return failure_class::empty_response;
  return std::nullopt;
}

failure_class classify_4xx(const answer_facts& facts) noexcept {
  switch (facts.status) {
  case 400:
  case 413:
  case 422:
    return classify_refused_input(facts);
  case 401:
  case 403:
    return failure_class::auth;
  case 408:
    return failure_class::timeout;
  case 429:
    return failure_class::rate_limit;
  default:
    return failure_class::client_error;
  }
}

} // namespace

const failure_traits& traits(failure_class f) noexcept {
  const auto row = static_cast<std::size_t>(f);
  return row < table.size() ? table[row] : table.back();
}

std::optional<failure_class> failure_class_from_string(std::string_view name) noexcept {
  const auto row = std::ranges::find(table, name, &failure_traits::name);
  if (row == table.end())
    return std::nullopt;
  return static_cast<failure_class>(row - table.begin());
}

failure_set default_trips() noexcept {
  failure_set trips;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table[row].trips)
      trips.insert(static_cast<failure_class>(row));
  }
  return trips;
}

std::string_view to_string(transport_error e) noexcept {
  switch (e) {
  case transport_error::dns:
    return "name resolution failed";
  case transport_error::refused:
    return "connection refused";
  case transport_error::reset:
    return "connection lost";
  case transport_error::tls:
    return "TLS failure";
  case transport_error::early_close:
    return "connection closed before the answer was complete";
  case transport_error::malformed_http:
    return "malformed HTTP";
  case transport_error::connect_timeout:
    return "connect timed out";
  case transport_error::first_byte_timeout:
    return "no first byte in time";
  case transport_error::first_content_timeout:
    return "no first content in time";
  case transport_error::idle_timeout:
    return "the answer stalled";
  case transport_error::attempt_timeout:
    return "attempt timed out";
  case transport_error::stream_timeout:
    return "the stream took too long";
  case transport_error::response_too_large:
    return "answer too large";
  case transport_error::bad_url:
    return "bad URL";
  case transport_error::cancelled:
    return "cancelled";
  case transport_error::other:
    break;
  }
  return "transport failure";
}

std::optional<failure_class> classify(const answer_facts& facts) noexcept {
  switch (facts.status / 100) {
  case 2:
    return classify_2xx(facts);
  case 3:
    return failure_class::configuration;
  case 4:
    return classify_4xx(facts);
  case 5:
    return failure_class::server_error;
  default:
    return failure_class::unknown;
  }
}

failure_class classify(transport_error e) noexcept {
  switch (e) {
  case transport_error::connect_timeout:
  case transport_error::first_byte_timeout:
  case transport_error::first_content_timeout:
  case transport_error::idle_timeout:
  case transport_error::attempt_timeout:
  case transport_error::stream_timeout:
    return failure_class::timeout;
  case transport_error::response_too_large:
    return failure_class::soft_failure; // [F4]
  case transport_error::bad_url:
    return failure_class::configuration;
  case transport_error::cancelled:
    return failure_class::cancelled;
  case transport_error::dns:
  case transport_error::refused:
  case transport_error::reset:
  case transport_error::tls:
  case transport_error::early_close:
  case transport_error::malformed_http:
  case transport_error::other:
    break;
  }
  return failure_class::connection;
}

} // namespace switchyard
