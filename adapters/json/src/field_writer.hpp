#pragma once

// Writes fields of an aggregate as JSON, by the table in settings_fields.hpp.

#include "switchyard/engine/settings_fields.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <optional>

namespace switchyard::detail {
namespace json = boost::json;

/// Whether the name of a query parameter says that its value is a secret.
bool names_a_secret(std::string_view name);

/// A number as JSON, whole where it is whole: Boost.JSON writes 1.0 as 1E0.
inline json::value number(double value) {
  constexpr double exact = 9007199254740992; // 2^53
  const bool whole = value >= -exact && value <= exact && value == std::trunc(value);
  return whole ? json::value(static_cast<std::int64_t>(value)) : json::value(value);
}

class field_writer {
public:
  /// `settings` gives routes their names and order; null where no route is written.
  explicit field_writer(const config* settings = nullptr) : settings_(settings) {}

  template <described S>
  json::object write_object(const S& object) const {
    return write_rows(object, fields_of<S>::rows);
  }

  /// The value of one row; nothing for one that a file leaves out, such as an empty text that means "none".
  template <class S, class M, class Rule>
  std::optional<json::value> write_row(const S& object, const field<S, M, Rule>& row) const {
    return write(object.*row.member, row.rule);
  }

  std::optional<json::value> write_row(const window_settings& window,
                                       const field<window_settings, std::uint32_t, window_size_rule>&) const {
    if (window.type == window_settings::kind::count)
      return json::value(std::uint64_t{window.size});
    return text(format_duration(window.span));
  }

  template <class S, class... Fields>
  std::optional<json::value> write_row(const S& object, const group<Fields...>& row) const {
    auto members = write_rows(object, row.fields);
    return members.empty() ? json::value(nullptr) : json::value(std::move(members));
  }

  template <class S, class Rule>
  std::optional<json::value> write_row(const S&, const file_only_field<Rule>&) const {
    return std::nullopt;
  }

private:
  template <class S, class Rows>
  json::object write_rows(const S& object, const Rows& rows) const {
    json::object out;
    for_each_row(rows, [&](const auto& row) {
      if (auto value = write_row(object, row))
        out.emplace(json::string_view(row.key.data(), row.key.size()), std::move(*value));
    });
    return out;
  }

  static json::value text(std::string_view value) { return json::string(value.data(), value.size()); }

  std::optional<json::value> write(bool value, const flag_rule&) const { return json::value(value); }
  std::optional<json::value> write(std::uint64_t value, const whole_rule&) const { return json::value(value); }
  std::optional<json::value> write(std::uint64_t value, const bytes_rule&) const { return text(format_bytes(value)); }
  std::optional<json::value> write(double value, const real_rule&) const { return number(value); }
  std::optional<json::value> write(duration value, const span_rule&) const { return text(format_duration(value)); }

  template <class E, std::size_t N>
  std::optional<json::value> write(E value, const choice_rule<N>& rule) const {
    const auto index = static_cast<std::size_t>(value);
    return index < N ? std::optional{text(rule.names[index])} : std::nullopt;
  }

  std::optional<json::value> write(const std::string& value, const text_rule& rule) const {
    if (value.empty() && rule.form != text_form::any)
      return std::nullopt;
    return text(value);
  }

  std::optional<json::value> write(failure_set value, const classes_rule&) const;
  std::optional<json::value> write(const std::string& value, const json_object_rule&) const;
  std::optional<json::value> write(const std::map<std::string, header_value>& headers, const headers_rule&) const;
  std::optional<json::value> write(const std::map<std::string, std::string>& values, const text_rule& rule) const;
  std::optional<json::value> write(const std::vector<std::string>& values, const text_rule& rule) const;
  std::optional<json::value> write(const std::map<std::string, route_settings>& routes, const nested_rule&) const;

  template <class M, class Rule>
  std::optional<json::value> write(const std::optional<M>& value, const Rule& rule) const {
    return value ? write(*value, rule) : json::value(nullptr);
  }

  template <described S>
  std::optional<json::value> write(const S& object, const nested_rule&) const {
    return json::value(write_object(object));
  }

  template <described S>
  std::optional<json::value> write(const std::vector<S>& objects, const nested_rule&) const {
    json::array out;
    for (const auto& object : objects)
      out.emplace_back(write_object(object));
    return json::value(std::move(out));
  }

  template <described S>
  std::optional<json::value> write(const std::map<std::string, S>& objects, const nested_rule&) const {
    json::object out;
    for (const auto& [name, object] : objects)
      out.emplace(name, write_object(object));
    return json::value(std::move(out));
  }

  const config* settings_;
};

} // namespace switchyard::detail
