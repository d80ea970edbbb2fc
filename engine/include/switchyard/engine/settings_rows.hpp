#pragma once

// What the table of settings (settings_fields.hpp) is made of: its kinds of rows, and how to walk them.

#include <string_view>
#include <tuple>

namespace switchyard {

enum class presence : bool { optional, required };

/// A row: a member of the aggregate S.
template <class S, class M, class Rule>
struct field {
  std::string_view key;
  M S::*member;
  Rule rule;
  std::string_view doc;
  presence need = presence::optional;
};

template <class S, class M, class Rule>
field(std::string_view, M S::*, Rule, std::string_view) -> field<S, M, Rule>;
template <class S, class M, class Rule>
field(std::string_view, M S::*, Rule, std::string_view, presence) -> field<S, M, Rule>;

/// A row that exists in the file only, and that reading uses up.
template <class Rule>
struct file_only_field {
  std::string_view key;
  Rule rule;
  std::string_view doc;
};

template <class Rule>
file_only_field(std::string_view, Rule, std::string_view) -> file_only_field<Rule>;

/// Rows that stand in an object of their own in the file, but are members of the same aggregate. Null is the same as
/// leaving the object out.
template <class... Fields>
struct group {
  std::string_view key;
  std::tuple<Fields...> fields;
  std::string_view doc;
};

template <class... Fields>
group(std::string_view, std::tuple<Fields...>, std::string_view) -> group<Fields...>;

/// The rows of S in the order of the documentation: `fields_of<S>::rows`, a tuple.
template <class S>
struct fields_of;

/// An aggregate that has rows.
template <class S>
concept described = requires {
  fields_of<S>::rows;
};

/// Calls `f(row)` for each row of a tuple, in order.
template <class Rows, class F>
constexpr void for_each_row(const Rows& rows, F&& f) {
  std::apply([&](const auto&... row) { (f(row), ...); }, rows);
}

} // namespace switchyard
