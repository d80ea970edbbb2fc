#pragma once

// The bodies a provider sends: whole answers and errors, good and bad. Streams are in stream_events.hpp.

#include "behaviour.hpp"

#include "switchyard/openai/body.hpp"

#include <boost/system/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace faulty {

using switchyard::openai::operation;

/// A request as far as an answer needs it.
struct call {
  operation what = operation::chat_completions;
  std::uint64_t number = 0; ///< makes ids differ
  std::string model{};
  bool stream = false;
  bool include_usage = false; ///< stream_options.include_usage
  std::string text{};         ///< what to say
  std::size_t inputs = 1;     ///< embeddings: how many vectors
  std::uint64_t input_tokens = 0;
};

/// Reads a request's body; `name` is the provider's, said when there is nothing to echo. Fails with a text.
boost::system::result<call, std::string> read_call(operation what, std::string_view body, std::string_view name);

/// The body of a whole answer: good, or one of the behaviours that are wrong in the body.
std::string whole_answer(const call& c, behaviour b);

/// `{"error":{...}}`; an empty code is null.
std::string error_body(std::string_view message, std::string_view type, std::string_view code);

/// The answer to GET /v1/models.
std::string model_list(const std::vector<std::string>& models);

} // namespace faulty
