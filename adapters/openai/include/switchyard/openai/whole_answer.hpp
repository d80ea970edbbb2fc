#pragma once

// Whole answers seen otherwise: as a stream, for who asked for one, and as the text that a model has written. Both
// functions are thread-safe.

#include "switchyard/openai/body.hpp"

#include <string>
#include <string_view>

namespace switchyard::openai {

/// A whole answer, a JSON object, as the stream of that operation: server-sent events with all of its content in one
/// chunk, and their proper end. What a chunk must have and the answer lacks is filled in: `id` "static", `created` 0,
/// the model. An answer without the operation's content becomes a single event. An operation without streams gives the
/// answer as it is.
std::string as_stream(operation op, std::string_view answer, std::string_view model);

/// All text in a whole answer's content, in order, pieces parted by a line feed: of chat messages, completions and
/// responses. Empty where there is none, and for what is no JSON object.
std::string answer_text(std::string_view answer);

} // namespace switchyard::openai
