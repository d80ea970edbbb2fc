#pragma once

// Parts that whole answers and streams have in common.

#include "answers.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace faulty {

inline constexpr std::string_view overloaded_message = "the model is overloaded";

/// Each with the space that follows it.
std::vector<std::string> words(const std::string& text);

/// "chatcmpl-7": the prefix and the call's number.
std::string id(const char* prefix, const call& c);

/// The members that all answers of an operation begin with.
boost::json::object head(const call& c, bool chunk);

boost::json::object usage(const call& c, std::uint64_t output_tokens);

/// The output of a response that says the call's text.
boost::json::array response_output(const call& c);

/// The answer as the API gives it; an empty one has nothing in it.
boost::json::object good_answer(const call& c, bool empty);

/// `{"error":{...}}`; an empty code is null.
boost::json::object error_object(std::string_view message, std::string_view type, std::string_view code);

} // namespace faulty
