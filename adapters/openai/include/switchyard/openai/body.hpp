#pragma once

// What Switchyard has to know of the bodies of the OpenAI-compatible API, and nothing more. Bodies go on byte for
// byte but for the model's name. All functions are thread-safe: they keep nothing between calls.

#include "switchyard/actors/provider.hpp"

#include <boost/system/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace switchyard::openai {

/// The operations served, by path below /v1.
enum class operation : std::uint8_t { chat_completions, completions, embeddings, responses };

/// The operation of "/v1/chat/completions" and so on; nothing for another path. The path has no query.
std::optional<operation> operation_of(std::string_view path) noexcept;

/// "/chat/completions" and so on: the path below a provider's base URL.
std::string_view provider_path(operation op) noexcept;

/// How deep a body may nest, in either direction: far beyond any real one, far below what a stack bears.
inline constexpr std::size_t max_depth = 256;

/// The largest output limit that is believed; a larger one reads as this, so that sums of estimates cannot overflow.
inline constexpr std::uint64_t max_output_limit = std::uint64_t{1} << 53;

/// The output tokens that are assumed where a request sets no limit [U1].
inline constexpr std::uint64_t default_output_estimate = 1024;

/// A request body looked at as far as needed.
struct request_view {
  std::string model;   ///< decoded; the last one where the key occurs more than once, as most parsers take it
  bool stream = false; ///< null reads as false
  /// The largest of max_completion_tokens, max_tokens and max_output_tokens. Anything but a non-negative number is left
  /// to the provider to refuse and reads as absent.
  std::optional<std::uint64_t> output_limit;
  /// Offset and length of each value of a top-level `model`, in order, quotes included.
  std::vector<std::pair<std::size_t, std::size_t>> model_spans;
  /// U1's estimate: body bytes / 4 + the output limit, else 1,024.
  std::uint64_t estimated_tokens = 0;
  std::uint64_t estimated_input_tokens = 0; ///< body bytes / 4
};

/// Looks at a request body: a JSON object (RFC 8259, UTF-8 without byte order mark) with a non-empty text `model` and,
/// if any, a boolean `stream`. The whole body is checked to be JSON. Fails with a text for the client that says what is
/// wrong and, for syntax, at which byte (counted from 0). Costs one pass and no memory beyond the view's own fields.
boost::system::result<request_view, std::string> inspect_request(std::string_view body);

/// The body with its model replaced, all other bytes as they were. `view` is that of this very body; `model` is UTF-8.
std::string with_model(std::string_view body, const request_view& view, std::string_view model);

/// Judges a whole HTTP answer: fills `failure` (by the engine's classifier) and `tokens` from status and body; the
/// Content-Type is not asked. A result with a transport error gets that error's class. Costs one pass and no memory,
/// however large the body is. Embeddings have no output: where their input tokens are known, the output tokens are 0.
void inspect_answer(operation op, provider_result& result);

/// The inspector for http::make_client: takes the operation from the request's path below the base URL. For a path that
/// is none of the operations, JSON is not promised and any non-empty 2xx is usable.
void inspect_by_path(const provider_request& request, provider_result& result);

} // namespace switchyard::openai
