#include "source_text.hpp"

#include "switchyard/engine/validate.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/stream_parser.hpp>

#include <algorithm>
#include <charconv>

namespace switchyard::detail {
namespace json = boost::json;
namespace {

constexpr std::size_t deepest = 32;
constexpr std::string_view blanks = " \t\r\n";

config_problem syntax_problem(std::string_view text, std::size_t offset, std::string message) {
  const auto before = text.substr(0, std::min(offset, text.size()));
  const auto line_start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  config_problem problem;
  problem.line = 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
  problem.column = 1 + before.size() - line_start;
  problem.message = std::move(message);
  return problem;
}

/// The length of the UTF-8 sequence at the start of `text`; 0 when it is none (RFC 3629).
std::size_t sequence_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80)
    return 1;
  if (first >= 0xC2 && first <= 0xDF)
    return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second >= 0xA0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool too_large = first == 0xF4 && second >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

/// The offset of the first byte that is not UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const auto length = sequence_length(text.substr(i));
    if (length == 0)
      return i;
    i += length;
  }
  return text.npos;
}

/// The offset after the string that starts at `start`.
std::size_t string_end(std::string_view text, std::size_t start) noexcept {
  for (std::size_t i = start + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return text.size();
}

/// Overwrites comments with blanks, line breaks aside. Returns the offset of a comment without an end, or npos.
/// Boost.JSON can skip comments itself, but 1.81 reads past the end of a text that stops inside one; and blanks spare
/// the skimming a second grammar.
std::size_t blank_comments(std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      i = string_end(text, i);
      continue;
    }
    const bool line = text.compare(i, 2, "//") == 0, block = text.compare(i, 2, "/*") == 0;
    if (!line && !block) {
      ++i;
      continue;
    }
    std::size_t end = line ? text.find('\n', i) : text.find("*/", i + 2);
    if (block && end == text.npos)
      return i;
    end = end == text.npos ? text.size() : end + (block ? 2 : 0);
    std::replace_if(
        text.begin() + static_cast<std::ptrdiff_t>(i), text.begin() + static_cast<std::ptrdiff_t>(end),
        [](char c) { return c != '\n'; }, ' ');
    i = end;
  }
  return text.npos;
}

/// Walks a text that Boost.JSON has accepted, and notes lines and keys that are given twice. Recursive: the depth is
/// bounded by the parser's.
class skimmer {
public:
  skimmer(std::string_view text, std::vector<config_problem>& problems) : text_(text), problems_(problems) {}

  source_node skim() {
    source_node root;
    skim_value(root, "");
    return root;
  }

private:
  void skim_value(source_node& node, const std::string& pointer) {
    skip_blanks();
    node.line = line_;
    const char first = peek();
    if (first == '{') {
      skim_object(node, pointer);
    } else if (first == '[') {
      skim_array(node, pointer);
    } else {
      node.text = take_scalar();
    }
  }

  void skim_object(source_node& node, const std::string& pointer) {
    ++at_;
    for (skip_blanks(); at_ < text_.size() && peek() != '}'; skip_separator()) {
      const auto key_line = line_;
      // A key can be written with escapes; two spellings are one key.
      const auto key_value = json::parse(json::string_view(take_scalar()));
      const std::string key(key_value.as_string().begin(), key_value.as_string().end());
      skip_blanks();
      ++at_; // the colon
      const auto place = child_pointer(pointer, key);
      const auto [member, is_new] = node.members.try_emplace(key);
      if (!is_new)
        problems_.push_back({place, key_line, 0, "",
                             "this key is given twice in the same object, first in line " +
                                 std::to_string(member->second.line) + "; accepted: once"});
      source_node value;
      skim_value(value, place);
      member->second = std::move(value); // the last one counts, as in the parsed document
    }
    ++at_;
    node.text = node.members.empty() ? "{}" : "{...}";
  }

  void skim_array(source_node& node, const std::string& pointer) {
    ++at_;
    for (skip_blanks(); at_ < text_.size() && peek() != ']'; skip_separator()) {
      source_node item;
      skim_value(item, child_pointer(pointer, std::to_string(node.items.size())));
      node.items.push_back(std::move(item));
    }
    ++at_;
    node.text = node.items.empty() ? "[]" : "[...]";
  }

  std::string_view take_scalar() {
    const auto start = at_;
    at_ = peek() == '"' ? string_end(text_, at_) : std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
    return text_.substr(start, at_ - start);
  }

  void skip_separator() {
    skip_blanks();
    if (peek() == ',')
      ++at_;
    skip_blanks();
  }

  void skip_blanks() {
    for (; at_ < text_.size() && blanks.find(text_[at_]) != blanks.npos; ++at_)
      line_ += text_[at_] == '\n';
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  std::vector<config_problem>& problems_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

std::string unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size())
      out += token[++i] == '1' ? '/' : '~';
    else
      out += token[i];
  }
  return out;
}

const source_node* child(const source_node& node, std::string_view token) {
  if (const auto member = node.members.find(unescaped(token)); member != node.members.end())
    return &member->second;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error == std::errc{} && end == token.data() + token.size() && index < node.items.size())
    return &node.items[index];
  return nullptr;
}

/// Follows a pointer as far as the tree goes; the second value says whether that was to its end.
std::pair<const source_node*, bool> follow(const source_node& root, std::string_view pointer) {
  const source_node* node = &root;
  while (!pointer.empty()) {
    const auto end = std::min(pointer.find('/', 1), pointer.size());
    const auto* next = child(*node, pointer.substr(1, end - 1));
    if (next == nullptr)
      return {node, false};
    node = next;
    pointer.remove_prefix(end);
  }
  return {node, true};
}

/// Why Boost.JSON refused the text, for a person.
std::string reason(const boost::system::error_code& error) {
  if (error == json::error::too_deep)
    return "objects and arrays are nested deeper than " + std::to_string(deepest);
  if (error == json::error::incomplete)
    return "the text ends before the configuration does";
  return "not JSON: " + error.message();
}

} // namespace

const source_node* source_document::find(std::string_view pointer) const {
  const auto [node, complete] = follow(tree, pointer);
  return complete ? node : nullptr;
}

std::size_t source_document::line_of(std::string_view pointer) const {
  return follow(tree, pointer).first->line;
}

void parse_source(std::string_view text, source_document& document) {
  document.text = text;
  std::string& source = document.text;
  const auto refuse = [&](std::size_t offset, std::string message) {
    document.problems.push_back(syntax_problem(source, offset, std::move(message)));
  };
  if (source.starts_with("\xEF\xBB\xBF"))
    source.replace(0, 3, "   "); // a byte order mark, which some editors write
  if (const auto offset = find_invalid_utf8(source); offset != source.npos)
    return refuse(offset, "not UTF-8; accepted: JSON in UTF-8");
  if (const auto offset = blank_comments(source); offset != source.npos)
    return refuse(offset, "this comment has no end");

  json::parse_options options;
  options.allow_trailing_commas = true;
  options.max_depth = deepest;
  json::stream_parser parser({}, options);
  boost::system::error_code error;
  const auto consumed = parser.write_some(source.data(), source.size(), error);
  if (error)
    return refuse(consumed, reason(error));
  if (const auto rest = source.find_first_not_of(blanks, consumed); rest != source.npos)
    return refuse(rest, "something follows the configuration's last brace");
  parser.finish(error);
  if (error)
    return refuse(source.size(), reason(error));
  document.root = parser.release();
  document.tree = skimmer{source, document.problems}.skim();
  document.parsed = true;
}

} // namespace switchyard::detail
