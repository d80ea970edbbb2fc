#include "exposition.hpp"

#include <boost/regex.hpp> // std::regex does not compile without warnings under sanitizers

#include <algorithm>
#include <set>

namespace switchyard::metrics::test {
namespace {

std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\\' || i + 1 == text.size())
      out += text[i];
    else
      out += text[++i] == 'n' ? '\n' : text[i];
  return out;
}

labels read_labels(const std::string& text) {
  static const boost::regex pair(R"#(([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)")#");
  labels found;
  for (boost::sregex_iterator it(text.begin(), text.end(), pair), end; it != end; ++it)
    found[(*it)[1]] = unescaped((*it)[2]);
  return found;
}

/// The family that a sample belongs to: a histogram's samples have suffixes.
std::string family_of(const exposition& e, const std::string& name) {
  for (std::string_view suffix : {"_bucket", "_sum", "_count"})
    if (name.ends_with(suffix))
      if (auto base = name.substr(0, name.size() - suffix.size()); e.types.contains(base))
        return base;
  return name;
}

void read_comment(exposition& e, const std::string& line) {
  static const boost::regex comment(R"(# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+))");
  boost::smatch m;
  if (!boost::regex_match(line, m, comment))
    return e.errors.push_back("not a comment of the format: " + line);
  auto& into = m[1] == "HELP" ? e.helps : e.types;
  if (!into.emplace(m[2], m[3]).second)
    e.errors.push_back("twice: " + line);
  if (m[1] == "TYPE")
    e.families.push_back(m[2]);
}

void read_sample(exposition& e, const std::string& line, std::set<std::pair<std::string, labels>>& seen) {
  static const boost::regex form(R"#(([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+))#");
  boost::smatch m;
  if (!boost::regex_match(line, m, form))
    return e.errors.push_back("not a sample: " + line);
  sample s{m[1], read_labels(m[2]), std::stod(m[3])};
  if (e.families.empty() || e.families.back() != family_of(e, s.name))
    e.errors.push_back("outside its family: " + line);
  if (!seen.emplace(s.name, s.with).second)
    e.errors.push_back("series twice: " + line);
  e.samples.push_back(std::move(s));
}

} // namespace

std::optional<double> exposition::value(std::string_view name, const labels& with) const {
  std::optional<double> sum;
  for (const auto& s : samples)
    if (s.name == name && std::ranges::includes(s.with, with))
      sum = sum.value_or(0) + s.value;
  return sum;
}

std::size_t exposition::series(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count(samples, name, &sample::name));
}

exposition read_exposition(const std::string& text) {
  exposition e;
  if (!text.ends_with('\n'))
    e.errors.push_back("the last line has no end");
  std::set<std::pair<std::string, labels>> seen;
  for (std::size_t begin = 0; begin < text.size();) {
    auto end = std::min(text.find('\n', begin), text.size());
    auto line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with('#'))
      read_comment(e, line);
    else
      read_sample(e, line, seen);
  }
  for (const auto& [family, type] : e.types)
    if (!e.helps.contains(family))
      e.errors.push_back("no help: " + family);
  return e;
}

} // namespace switchyard::metrics::test
