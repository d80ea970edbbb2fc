#include "tools/source_rules.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

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

// Calls `each` with the place behind every occurrence of `what`.
template <class Each>
void after_each(const std::string& text, const std::string& what, Each each) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1))
    each(at + what.size());
}

// The handlers of one typed_actor<...>, in order.
std::vector<handler> handlers_in(const std::string& actor, const std::string& signatures) {
  const std::string with = ">::with<";
  std::vector<std::pair<std::size_t, handler>> found;
  after_each(signatures, "caf::reacts_to<", [&](std::size_t from) {
    found.emplace_back(from, handler{actor, inside_brackets(signatures, from), "-"});
  });
  after_each(signatures, "caf::replies_to<", [&](std::size_t from) {
    const auto message = inside_brackets(signatures, from);
    const auto answer = from + message.size();
    if (signatures.compare(answer, with.size(), with) != 0)
      throw std::runtime_error("replies_to without an answer: " + message);
    found.emplace_back(from, handler{actor, message, inside_brackets(signatures, answer + with.size())});
  });
  std::ranges::sort(found);
  std::vector<handler> all;
  for (auto& [from, h] : found)
    all.push_back(std::move(h));
  return all;
}

std::vector<handler> handlers_of(const std::string& header) {
  const auto text = without_comments(header, literals::keep);
  std::vector<handler> all;
  after_each(text, "= caf::typed_actor<", [&](std::size_t from) {
    const auto begin = text.rfind("using ", from) + 6;
    const auto actor = text.substr(begin, text.find(' ', begin) - begin);
    std::ranges::move(handlers_in(actor, inside_brackets(text, from)), std::back_inserter(all));
  });
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
