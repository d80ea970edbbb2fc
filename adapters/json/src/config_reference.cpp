#include "switchyard/json/config_reference.hpp"

#include "field_writer.hpp"

#include "switchyard/engine/validate.hpp"

#include <boost/json/serialize.hpp>

namespace switchyard {
namespace {

using detail::field_writer;
namespace json = boost::json;

std::string json_text(const json::value& value) {
  return value.is_double() ? format_real(value.get_double()) : std::string(json::serialize(value));
}

// ---- in words what a member accepts ----

template <class M, class Rule>
struct in_words {
  static std::string of(const Rule& rule) { return accepted(rule); }
};
template <class Rule>
struct in_words<std::vector<std::string>, Rule> {
  static std::string of(const Rule& rule) { return "an array, each entry " + accepted(rule); }
};
template <class Rule>
struct in_words<std::map<std::string, std::string>, Rule> {
  static std::string of(const Rule& rule) { return "an object, each value " + accepted(rule); }
};
template <described S>
struct in_words<S, nested_rule> {
  static std::string of(const nested_rule&) { return "an object"; }
};
template <described S>
struct in_words<std::map<std::string, S>, nested_rule> {
  static std::string of(const nested_rule&) { return "an object of named objects"; }
};
template <described S>
struct in_words<std::vector<S>, nested_rule> {
  static std::string of(const nested_rule&) { return "an array of objects"; }
};
template <class M, class Rule>
struct in_words<std::optional<M>, Rule> {
  static std::string of(const Rule& rule) { return "null, or " + in_words<M, Rule>::of(rule); }
};

// ---- what is inside a member ----

template <class M>
struct inner {
  using type = void;
};
template <described S>
struct inner<S> {
  using type = S;
  static constexpr const char* path = "";
};
template <described S>
struct inner<std::optional<S>> {
  using type = S;
  static constexpr const char* path = "";
};
template <described S>
struct inner<std::map<std::string, S>> {
  using type = S;
  static constexpr const char* path = "/*";
};
template <described S>
struct inner<std::vector<S>> {
  using type = S;
  static constexpr const char* path = "/-";
};

class lister {
public:
  template <class S>
  void list(const std::string& pointer) {
    list_rows<S>(fields_of<S>::rows, pointer);
  }

  std::vector<config_key> keys;

private:
  template <class S, class Rows>
  void list_rows(const Rows& rows, const std::string& pointer) {
    for_each_row(rows, [&](const auto& row) { list_row<S>(row, child_pointer(pointer, row.key)); });
  }

  template <class S, class M, class Rule>
  void list_row(const field<S, M, Rule>& row, const std::string& pointer) {
    const bool required = row.need == presence::required;
    const auto value = required ? std::nullopt : field_writer{}.write_row(S{}, row);
    using nested = typename inner<M>::type;
    std::string text = value ? json_text(*value) : std::string{};
    if constexpr (std::is_same_v<M, nested>)
      text = "{}"; // its own keys have the defaults
    keys.push_back({pointer, in_words<M, Rule>::of(row.rule), std::move(text), required, std::string(row.doc)});
    if constexpr (!std::is_void_v<nested>)
      list<nested>(pointer + inner<M>::path);
  }

  template <class S, class... Fields>
  void list_row(const group<Fields...>& row, const std::string& pointer) {
    keys.push_back({pointer, "null, or an object", "null", false, std::string(row.doc)});
    list_rows<S>(row.fields, pointer);
  }

  template <class S, class Rule>
  void list_row(const file_only_field<Rule>& row, const std::string& pointer) {
    keys.push_back({pointer, accepted(row.rule), "", false, std::string(row.doc)});
  }
};

} // namespace

std::vector<config_key> config_reference() {
  lister all;
  all.list<config>("");
  return std::move(all.keys);
}

} // namespace switchyard
