#pragma once

// Checks every field of an aggregate against its rule, by the table in settings_fields.hpp.

#include "switchyard/engine/settings_fields.hpp"
#include "switchyard/engine/validate.hpp"

namespace switchyard::detail {

class field_checker {
public:
  /// `written_route` turns a route's key into its name in the file, for pointers.
  field_checker(std::vector<setting_problem>& problems, std::map<std::string, std::string> written_routes)
      : problems_(problems), written_routes_(std::move(written_routes)) {}

  /// Checks all fields of an aggregate that stands at `pointer`.
  template <class S>
  void check_object(const S& object, const std::string& pointer) {
    check_rows(object, fields_of<S>::rows, pointer);
  }

private:
  template <class S, class Rows>
  void check_rows(const S& object, const Rows& rows, const std::string& pointer) {
    for_each_row(rows, [&](const auto& row) { check_row(object, row, child_pointer(pointer, row.key)); });
  }

  template <class S, class... Fields>
  void check_row(const S& object, const group<Fields...>& row, const std::string& pointer) {
    check_rows(object, row.fields, pointer);
  }

  template <class S, class Rule>
  void check_row(const S&, const file_only_field<Rule>&, const std::string&) {}

  void check_row(const window_settings& window, const field<window_settings, std::uint32_t, window_size_rule>& row,
                 const std::string& pointer) {
    if (window.type == window_settings::kind::count)
      check(std::uint64_t{window.size}, row.rule.count, pointer);
    else
      check(window.span, row.rule.time, pointer);
  }

  /// A program may give a tenant its key itself.
  void check_row(const tenant_settings& tenant, const field<tenant_settings, std::string, text_rule>& row,
                 const std::string& pointer) {
    if (!tenant.key_env.empty())
      check(tenant.key_env, row.rule, pointer);
    else if (tenant.key.empty())
      add(pointer, "", "is required: " + accepted(row.rule));
  }

  template <class S, class M, class Rule>
  void check_row(const S& object, const field<S, M, Rule>& row, const std::string& pointer) {
    const M& value = object.*row.member;
    if constexpr (requires { value.empty(); }) {
      if (value.empty()) {
        if (row.need == presence::required)
          add(pointer, "", "is required: " + what_is_needed(row.rule));
        return; // otherwise empty means none
      }
    }
    check(value, row.rule, pointer);
  }

  template <class Rule>
  static std::string what_is_needed(const Rule& rule) {
    return accepted(rule);
  }
  static std::string what_is_needed(const nested_rule&) { return "at least one entry"; }

  // ---- one value ----

  void check(bool, const flag_rule&, const std::string&) {}

  void check(std::uint64_t value, const whole_rule& rule, const std::string& pointer) {
    if (!holds(rule, value))
      refuse(pointer, std::to_string(value), rule);
  }

  void check(std::uint64_t value, const bytes_rule& rule, const std::string& pointer) {
    if (!holds(rule, value))
      refuse(pointer, std::to_string(value), rule);
  }

  void check(double value, const real_rule& rule, const std::string& pointer) {
    if (!holds(rule, value))
      refuse(pointer, format_real(value), rule);
  }

  void check(duration value, const span_rule& rule, const std::string& pointer) {
    if (!holds(rule, value))
      refuse(pointer, json_quoted(format_duration(value)), rule);
  }

  void check(const std::string& value, const text_rule& rule, const std::string& pointer) {
    // A key pasted where the name of its variable belongs must not be shown, nor a password in a URL, nor a query
    // parameter that is a key.
    const bool showable =
        rule.form != text_form::variable && rule.form != text_form::base_url && rule.form != text_form::any;
    if (!holds(rule, value))
      refuse(pointer, showable ? json_quoted(value) : "", rule);
  }

  void check(failure_set value, const classes_rule& rule, const std::string& pointer) {
    if (!holds(rule, value))
      refuse(pointer, "", rule);
  }

  template <class E, std::size_t N>
  void check(E value, const choice_rule<N>& rule, const std::string& pointer) {
    if (static_cast<std::size_t>(value) >= N)
      refuse(pointer, std::to_string(static_cast<std::size_t>(value)), rule);
  }

  void check(const std::string&, const json_object_rule&, const std::string&) {} // needs a JSON parser

  void check(const std::map<std::string, header_value>& headers, const headers_rule&, const std::string& pointer) {
    for (const auto& [name, value] : headers)
      check_header(name, value, child_pointer(pointer, name));
  }

  // ---- many values, and settings inside settings ----

  template <class M, class Rule>
  void check(const std::optional<M>& value, const Rule& rule, const std::string& pointer) {
    if (value)
      check(*value, rule, pointer);
  }

  template <class Rule>
  void check(const std::vector<std::string>& values, const Rule& rule, const std::string& pointer) {
    for (std::size_t i = 0; i < values.size(); ++i)
      check(values[i], rule, child_pointer(pointer, std::to_string(i)));
  }

  template <class Rule>
  void check(const std::map<std::string, std::string>& values, const Rule& rule, const std::string& pointer) {
    for (const auto& [name, value] : values) {
      check_name(name, child_pointer(pointer, name));
      check(value, rule, child_pointer(pointer, name));
    }
  }

  template <described S>
  void check(const S& object, const nested_rule&, const std::string& pointer) {
    check_object(object, pointer);
  }

  template <class S>
  void check(const std::map<std::string, S>& objects, const nested_rule&, const std::string& pointer) {
    for (const auto& [name, object] : objects) {
      const auto& given = written<S>(name);
      const auto place = child_pointer(pointer, given);
      check_name(given, place);
      check_object(object, place);
    }
  }

  template <class S>
  void check(const std::vector<S>& objects, const nested_rule&, const std::string& pointer) {
    for (std::size_t i = 0; i < objects.size(); ++i)
      check_object(objects[i], child_pointer(pointer, std::to_string(i)));
  }

  void check_name(const std::string& name, const std::string& pointer) {
    if (!is_id(name))
      problems_.push_back({pointer, "", "this name is not accepted: " + accepted(text_rule{text_form::id}), {}, true});
  }

  void check_header(const std::string& name, const header_value& value, const std::string& pointer);

  template <class S>
  const std::string& written(const std::string& key) const {
    if constexpr (std::is_same_v<S, route_settings>) {
      if (const auto found = written_routes_.find(key); found != written_routes_.end())
        return found->second;
    }
    return key;
  }

  template <class Rule>
  void refuse(const std::string& pointer, std::string value, const Rule& rule) {
    add(pointer, std::move(value), "accepted: " + accepted(rule));
  }

  void add(const std::string& pointer, std::string value, std::string message) {
    problems_.push_back({pointer, std::move(value), std::move(message)});
  }

  std::vector<setting_problem>& problems_;
  std::map<std::string, std::string> written_routes_;
};

} // namespace switchyard::detail
