#include "chunk_scan.hpp"

#include "answer_scan.hpp"
#include "top_level.hpp"

namespace switchyard::openai::detail {
namespace {

// Notes what is found where.
class chunk_listener : public json_listener {
public:
  explicit chunk_listener(chunk_findings& out) noexcept : out_(out) {}

  void object_begins(place where) noexcept {
    if (where == choice()) {
      index_ = 0; // where a choice does not say, it is the only one
      finished_ = false;
    }
  }

  void container(place where, std::size_t members) noexcept {
    if (members != 0)
      found_something(where);
    if (where == at(key::choices))
      out_.no_choices = members == 0;
    else if (where == choice())
      end_choice();
  }

  void piece(place where, std::string_view s) noexcept {
    switch (where) {
    case at(key::type):
      out_.type.append(s);
      break;
    case choice(key::finish_reason):
    case at(key::item, key::type):
    case at(key::response, key::status):
      word_.append(s);
      break;
    default:
      break;
    }
  }

  void text(place where, std::size_t size) noexcept {
    if (size != 0) {
      found_word(where);
      found_something(where);
      count_content(where, size);
    }
    word_.clear();
  }

  void count(place where, std::uint64_t n) noexcept {
    if (where == choice(key::index))
      index_ = n;
    else if (plausible_tokens(n))
      count_tokens(where, n);
  }

  void value(place where) noexcept {
    if (where == at(key::error) || where == at(key::response, key::error))
      out_.error = true;
    else if (where == at(key::usage) || where == at(key::response, key::usage))
      out_.usage = true;
  }

private:
  void end_choice() noexcept {
    out_.seen.insert(index_);
    if (finished_)
      out_.finished.insert(index_);
  }

  // A text that is not empty and of which the words matter.
  void found_word(place where) noexcept {
    const std::string_view word = word_.view();
    if (where == choice(key::finish_reason)) {
      finished_ = true;
      out_.telling_finish |= tells_of_content(word);
    } else if (where == at(key::item, key::type)) {
      // These two begin empty and are filled by deltas; any other item, such as a function_call, is output by itself.
      out_.response_output |= word != "message" && word != "reasoning";
    } else if (where == at(key::response, key::status)) {
      out_.response_output |= word == "incomplete";
    }
  }

  // A text, list or object that is not empty: "content chunk", as at the top of the semantics.
  void found_something(place where) noexcept {
    switch (where) {
    case choice(key::delta, key::content):
    case choice(key::delta, key::tool_calls):
    case choice(key::delta, key::function_call):
    case choice(key::delta, key::refusal):
    case choice(key::delta, key::audio):
    case choice(key::delta, key::reasoning_content):
      out_.choice_content = true;
      break;
    case choice(key::text):
      out_.choice_text = true;
      break;
    case at(key::delta): // response.output_text.delta, .refusal.delta, .function_call_arguments.delta, ...
    case at(key::text):  // response.output_text.done, ...
    case at(key::refusal):
    case at(key::arguments):
    case at(key::part, key::text): // response.content_part.done, ...
    case at(key::part, key::refusal):
    case at(key::item, key::content): // response.output_item.done
    case at(key::item, key::summary):
    case at(key::response, key::output):
      out_.response_output = true;
      break;
    default:
      break;
    }
  }

  // What the tokens are estimated from: the deltas only, as what comes after them repeats them.
  void count_content(place where, std::size_t size) noexcept {
    switch (where) {
    case choice(key::delta, key::content):
    case choice(key::delta, key::content, key::element, key::text):
    case choice(key::delta, key::refusal):
    case choice(key::delta, key::reasoning_content):
    case choice(key::delta, key::tool_calls, key::element, key::function, key::name):
    case choice(key::delta, key::tool_calls, key::element, key::function, key::arguments):
    case choice(key::delta, key::function_call, key::name):
    case choice(key::delta, key::function_call, key::arguments):
    case choice(key::text):
    case at(key::delta):
      out_.content_bytes += size;
      break;
    default:
      break;
    }
  }

  void count_tokens(place where, std::uint64_t n) noexcept {
    switch (where) {
    case at(key::usage, key::prompt_tokens):
    case at(key::usage, key::input_tokens):
    case at(key::response, key::usage, key::input_tokens):
      out_.tokens.input = n;
      break;
    case at(key::usage, key::completion_tokens):
    case at(key::usage, key::output_tokens):
    case at(key::response, key::usage, key::output_tokens):
      out_.tokens.output = n;
      break;
    default:
      break;
    }
  }

  chunk_findings& out_;
  std::uint64_t index_ = 0; // of the current choice
  bool finished_ = false;
  bounded_text<32> word_; // that is being read; a longer one is none of ours
};

} // namespace

bool scan_chunk(std::string_view data, chunk_findings& out) {
  chunk_listener listener(out);
  return first_token(data) == '{' && read_places(data, listener, utf8::lenient);
}

} // namespace switchyard::openai::detail
