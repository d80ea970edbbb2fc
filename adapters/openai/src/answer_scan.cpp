#include "answer_scan.hpp"

#include <cstdint>

namespace switchyard::openai::detail {
namespace {

// Notes what is found where.
class answer_listener : public json_listener {
public:
  explicit answer_listener(answer_findings& out) noexcept : out_(out) {}

  void object_begins(place where) noexcept {
    if (where == at(key::error))
      prefer_error_object();
  }

  void container(place where, std::size_t members) noexcept {
    if (members != 0)
      found_something(where);
  }

  // The texts that are read.
  void piece(place where, std::string_view s) noexcept {
    switch (where) {
    case choice(key::finish_reason):
    case at(key::status):
      word_.append(s);
      break;
    case at(key::error, key::code):
      out_.code.append(s);
      break;
    case at(key::error, key::type):
      out_.type.append(s);
      break;
    case at(key::error, key::message):
      out_.message.append(s);
      break;
    default:
      if (!error_object_)
        piece_outside_error(where, s);
    }
  }

  void text(place where, std::size_t size) noexcept {
    if (where == choice(key::finish_reason))
      out_.telling_finish |= tells_of_content(word_.view());
    else if (where == at(key::status))
      out_.incomplete = word_.view() == "incomplete";
    if (size != 0)
      found_something(where);
    word_.clear();
  }

  void count(place where, std::uint64_t n) noexcept {
    if (!plausible_tokens(n))
      return;
    switch (where) {
    case at(key::usage, key::prompt_tokens):
    case at(key::usage, key::input_tokens):
      out_.tokens.input = n;
      break;
    case at(key::usage, key::completion_tokens):
    case at(key::usage, key::output_tokens):
      out_.tokens.output = n;
      break;
    default:
      break;
    }
  }

  void value(place where) noexcept {
    if (where == at(key::error))
      out_.error = true;
  }

private:
  // A text, list or object that is not empty.
  void found_something(place where) noexcept {
    switch (where) {
    case choice(key::message, key::content):
    case choice(key::message, key::tool_calls):
    case choice(key::message, key::function_call):
    case choice(key::message, key::refusal):
    case choice(key::message, key::audio):
    case choice(key::message, key::reasoning_content):
      out_.choice_content = true;
      break;
    case choice(key::text):
      out_.choice_text = true;
      break;
    case at(key::data):
      out_.data = true;
      break;
    case at(key::output):
      out_.output = true;
      break;
    default:
      break;
    }
  }

  // Some providers put the fields of an error at the top, or give the error as a mere text.
  void piece_outside_error(place where, std::string_view s) noexcept {
    switch (where) {
    case at(key::code):
      out_.code.append(s);
      break;
    case at(key::type):
      out_.type.append(s);
      break;
    case at(key::error):
    case at(key::message):
    case at(key::detail):
      out_.message.append(s);
      break;
    default:
      break;
    }
  }

  void prefer_error_object() noexcept {
    error_object_ = true;
    out_.code.clear();
    out_.type.clear();
    out_.message.clear();
  }

  answer_findings& out_;
  bool error_object_ = false;
  bounded_text<32> word_; // that is being read; a longer one is none of ours
};

} // namespace

bool tells_of_content(std::string_view finish_reason) noexcept {
  return finish_reason == "length" || finish_reason == "content_filter" || finish_reason == "tool_calls";
}

bool scan_answer(std::string_view text, answer_findings& out) {
  answer_listener listener(out);
  return read_places(text, listener);
}

} // namespace switchyard::openai::detail
