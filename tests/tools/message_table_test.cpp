#include "tools/source_rules.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

// docs/ARCHITECTURE.md has a table of every message between actors; the typed interfaces are the truth. This compares
// the two.

using namespace switchyard::test;

namespace {

struct handler {
  std::string actor, message, answer; ///< the answer is "-" for a message without one

  friend auto operator<=>(const handler&, const handler&) = default;
};

std::ostream& operator<<(std::ostream& out, const handler& h) {
  return out << h.actor << " | " << h.message << " | " << h.answer;
}

std::string read(const std::string& path) {
  std::ifstream in(std::string{SWITCHYARD_SOURCE_DIR} + "/" + path);
  if (!in)
    throw std::runtime_error(path + " cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The text up to the bracket that closes the one before `from`.
std::string inside_brackets(const std::string& text, std::size_t from) {
  int depth = 1;
  auto to = from;
  for (; to < text.size() && depth > 0; ++to)
    depth += text[to] == '<' ? 1 : text[to] == '>' ? -1 : 0;
  if (depth != 0)
    throw std::runtime_error("an interface does not end");
  return text.substr(from, to - 1 - from);
}

// The handlers of one typed_actor<...>, in order.
void append_handlers(const std::string& actor, const std::string& signatures, std::vector<handler>& to) {
  static const std::regex start{R"(caf::(replies_to|reacts_to)<)"};
  for (std::sregex_iterator it(signatures.begin(), signatures.end(), start), end; it != end; ++it) {
    const auto begin = static_cast<std::size_t>(it->position() + it->length());
    handler h{actor, inside_brackets(signatures, begin), "-"};
    if ((*it)[1] == "replies_to") {
      const std::string with = ">::with<";
      const auto answer = begin + h.message.size();
      if (signatures.compare(answer, with.size(), with) != 0)
        throw std::runtime_error("replies_to without an answer: " + h.message);
      h.answer = inside_brackets(signatures, answer + with.size());
    }
    to.push_back(std::move(h));
  }
}

std::vector<handler> handlers_of(const std::string& header) {
  const auto text = without_comments(header, literals::keep);
  static const std::regex interface { R"(using\s+(\w+)\s*=\s*caf::typed_actor<)" };
  std::vector<handler> all;
  for (std::sregex_iterator it(text.begin(), text.end(), interface), end; it != end; ++it)
    append_handlers((*it)[1], inside_brackets(text, static_cast<std::size_t>(it->position() + it->length())), all);
  return all;
}

std::string trimmed(std::string cell) {
  std::erase(cell, '`');
  const auto first = cell.find_first_not_of(' ');
  return first == cell.npos ? std::string{} : cell.substr(first, cell.find_last_not_of(' ') - first + 1);
}

// The rows `| actor | message | from | answer |` of the table with that head. Nobody may be missing in `from`.
std::vector<handler> rows_of(const std::string& document) {
  std::istringstream lines(document);
  std::vector<handler> all;
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream rest(line);
    for (std::string cell; std::getline(rest, cell, '|');)
      cells.push_back(trimmed(cell));
    if (cells == std::vector<std::string>{"", "actor", "message", "from", "answer"})
      in_table = true;
    else if (cells.size() != 5)
      in_table = false;
    else if (in_table && !cells[1].starts_with("---")) {
      if (cells[3].empty())
        throw std::runtime_error("nobody sends " + cells[2]);
      all.push_back({cells[1], cells[2], cells[4]});
    }
  }
  return all;
}

} // namespace

TEST_CASE("the document's message table and the typed interfaces agree") {
  auto truth = handlers_of(read("actors/include/switchyard/actors/interfaces.hpp"));
  auto told = rows_of(read("docs/ARCHITECTURE.md"));
  CHECK(truth.size() > 20);
  CHECK(told == truth); // the order as well
}

TEST_CASE("the table's test reads interfaces as they are written") {
  const auto found = handlers_of("// using none = caf::typed_actor<caf::reacts_to<x>>;\n"
                                 "using one_actor = caf::typed_actor<\n"
                                 "  // From somebody. caf::reacts_to<lie>\n"
                                 "  caf::replies_to<ask>::with<std::vector<a::b>>,\n"
                                 "  caf::reacts_to<tell>>;\n"
                                 "using two_actor = caf::typed_actor<caf::reacts_to<tell>>;\n");
  CHECK(found == std::vector<handler>{{"one_actor", "ask", "std::vector<a::b>"},
                                      {"one_actor", "tell", "-"},
                                      {"two_actor", "tell", "-"}});
}

TEST_CASE("the table's test reads that table only, and wants a sender") {
  const std::string head = "| actor | message | from | answer |\n|---|---|---|---|\n";
  CHECK(rows_of("| a | b | c | d |\n\n" + head + "| `x` | `m` | somebody | - |\n\n| y | m | z | - |\n") ==
        std::vector<handler>{{"x", "m", "-"}});
  CHECK_THROWS(rows_of(head + "| x | m | | - |\n"));
}
