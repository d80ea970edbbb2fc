#pragma once

// Reads every field of an aggregate from a JSON object, by the table in settings_fields.hpp.

#include "nearest_name.hpp"
#include "read_config.hpp"

#include "switchyard/engine/settings_fields.hpp"
#include "switchyard/engine/validate.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

namespace switchyard::detail {
namespace json = boost::json;

class field_reader {
public:
  explicit field_reader(const source_document& document) : document_(document) {}

  /// Reads the whole configuration.
  void read_document(config& settings) { read_object(settings, document_.root, ""); }

  std::vector<config_problem> problems;
  std::map<std::string, std::string> bases;

private:
  // ---- objects and their rows ----

  template <described S>
  void read_object(S& object, const json::value& value, const std::string& pointer) {
    if (!value.is_object())
      return refuse_object(pointer, "an object", value);
    read_rows(object, fields_of<S>::rows, value.get_object(), pointer);
    adjust(object, value.get_object());
  }

  template <class S, class Rows>
  void read_rows(S& object, const Rows& rows, const json::object& given, const std::string& pointer) {
    std::vector<std::string_view> known;
    for_each_row(rows, [&](const auto& row) {
      known.push_back(row.key);
      if (const auto* value = given.if_contains(json::string_view(row.key.data(), row.key.size())))
        read_row(object, row, *value, child_pointer(pointer, row.key));
    });
    for (const auto& member : given) {
      const std::string_view key(member.key().data(), member.key().size());
      if (std::ranges::find(known, key) == known.end())
        refuse_unknown_key(child_pointer(pointer, key), key, known);
    }
  }

  template <class S, class M, class Rule>
  void read_row(S& object, const field<S, M, Rule>& row, const json::value& value, const std::string& pointer) {
    read(object.*row.member, row.rule, value, pointer);
  }

  template <class S, class... Fields>
  void read_row(S& object, const group<Fields...>& row, const json::value& value, const std::string& pointer) {
    if (value.is_null())
      return;
    if (!value.is_object())
      return refuse_object(pointer, "null or an object", value);
    read_rows(object, row.fields, value.get_object(), pointer);
  }

  /// `base` has been followed before the profile is read.
  template <class S, class Rule>
  void read_row(S&, const file_only_field<Rule>&, const json::value&, const std::string&) {}

  /// The table has `type` before `size`, so that the type is known here.
  void read_row(window_settings& window, const field<window_settings, std::uint32_t, window_size_rule>& row,
                const json::value& value, const std::string& pointer) {
    if (window.type == window_settings::kind::count)
      read(window.size, row.rule.count, value, pointer);
    else
      read(window.span, row.rule.time, value, pointer);
  }

  // ---- one value ----

  void read(bool& out, const flag_rule& rule, const json::value& value, const std::string& pointer) {
    if (value.is_bool())
      out = value.get_bool();
    else
      refuse(pointer, accepted(rule));
  }

  template <std::unsigned_integral Whole>
  void read(Whole& out, const whole_rule& rule, const json::value& value, const std::string& pointer) {
    if (const auto number = whole_number(value); number && *number <= std::numeric_limits<Whole>::max())
      out = static_cast<Whole>(*number);
    else
      refuse(pointer, accepted(rule));
  }

  void read(std::uint64_t& out, const bytes_rule& rule, const json::value& value, const std::string& pointer) {
    const auto number = value.is_string() ? parse_bytes(view(value)) : whole_number(value);
    if (number)
      out = *number;
    else
      refuse(pointer, accepted(rule));
  }

  void read(double& out, const real_rule& rule, const json::value& value, const std::string& pointer) {
    if (value.is_number())
      out = value.to_number<double>(); // 1e999 is infinite here, and refused by the rule
    else
      refuse(pointer, accepted(rule));
  }

  void read(duration& out, const span_rule& rule, const json::value& value, const std::string& pointer) {
    if (const auto length = value.is_string() ? parse_duration(view(value)) : std::nullopt)
      out = *length;
    else
      refuse(pointer, accepted(rule));
  }

  template <class E, std::size_t N>
  void read(E& out, const choice_rule<N>& rule, const json::value& value, const std::string& pointer) {
    const auto found = value.is_string() ? std::ranges::find(rule.names, view(value)) : rule.names.end();
    if (found != rule.names.end())
      out = static_cast<E>(found - rule.names.begin());
    else
      refuse(pointer, accepted(rule));
  }

  void read(std::string& out, const text_rule& rule, const json::value& value, const std::string& pointer) {
    // An empty text means "none" in a program; in a file it is a mistake.
    if (value.is_string() && (rule.form == text_form::any || !value.get_string().empty()))
      out = view(value);
    else
      refuse(pointer, accepted(rule), rule.form == text_form::variable || rule.form == text_form::any);
  }

  void read(failure_set& out, const classes_rule& rule, const json::value& value, const std::string& pointer) {
    if (!value.is_array())
      return refuse(pointer, accepted(rule));
    failure_set classes;
    for (std::size_t i = 0; i < value.get_array().size(); ++i) {
      const auto& item = value.get_array()[i];
      const auto named = item.is_string() ? failure_class_from_string(view(item)) : std::nullopt;
      if (named && rule.allowed.contains(*named))
        classes.insert(*named);
      else
        refuse(child_pointer(pointer, std::to_string(i)), accepted_entry(rule));
    }
    out = classes;
  }

  void read(std::string& out, const json_object_rule& rule, const json::value& value, const std::string& pointer) {
    if (value.is_object())
      out = json::serialize(value);
    else
      refuse_object(pointer, accepted(rule), value);
  }

  void read(std::map<std::string, header_value>& out, const headers_rule& rule, const json::value& value,
            const std::string& pointer) {
    if (!value.is_object())
      return refuse(pointer, accepted(rule), true);
    for (const auto& member : value.get_object())
      read_header(out[std::string(member.key())], member.value(), child_pointer(pointer, std::string(member.key())));
  }

  void read_header(header_value& out, const json::value& value, const std::string& pointer);

  // ---- many values, and settings inside settings ----

  template <class M, class Rule>
  void read(std::optional<M>& out, const Rule& rule, const json::value& value, const std::string& pointer) {
    out.reset();
    if (!value.is_null())
      read(out.emplace(), rule, value, pointer);
  }

  template <class Rule>
  void read(std::vector<std::string>& out, const Rule& rule, const json::value& value, const std::string& pointer) {
    if (!value.is_array())
      return refuse(pointer, "an array, each entry " + accepted(rule));
    out.resize(value.get_array().size());
    for (std::size_t i = 0; i < out.size(); ++i)
      read(out[i], rule, value.get_array()[i], child_pointer(pointer, std::to_string(i)));
  }

  template <class Rule>
  void read(std::map<std::string, std::string>& out, const Rule& rule, const json::value& value,
            const std::string& pointer) {
    if (!value.is_object())
      return refuse_object(pointer, "an object, each value " + accepted(rule), value);
    for (const auto& member : value.get_object())
      read(out[std::string(member.key())], rule, member.value(), child_pointer(pointer, std::string(member.key())));
  }

  template <described S>
  void read(S& out, const nested_rule&, const json::value& value, const std::string& pointer) {
    read_object(out, value, pointer);
  }

  template <described S>
  void read(std::vector<S>& out, const nested_rule&, const json::value& value, const std::string& pointer) {
    if (!value.is_array())
      return refuse_object(pointer, "an array of objects", value);
    out.resize(value.get_array().size());
    for (std::size_t i = 0; i < out.size(); ++i)
      read_object(out[i], value.get_array()[i], child_pointer(pointer, std::to_string(i)));
  }

  template <described S>
  void read(std::map<std::string, S>& out, const nested_rule&, const json::value& value, const std::string& pointer) {
    if (!value.is_object())
      return refuse_object(pointer, "an object of named objects", value);
    for (const auto& member : value.get_object()) {
      const std::string name(member.key());
      read_object(out[name], member.value(), child_pointer(pointer, name));
    }
  }

  void read(std::map<std::string, circuit_settings>& profiles, const nested_rule&, const json::value& value,
            const std::string& pointer);
  std::vector<std::string> inheritance(const json::object& profiles, const std::string& name,
                                       const std::map<std::string, circuit_settings>& done);

  // ---- defaults that follow a value which was given: only that value is then what the person asked for ----

  template <class S>
  void adjust(S&, const json::object&) {}

  void adjust(circuit_settings& circuit, const json::object& given);
  void adjust(retry_settings& retry, const json::object& given) {
    if (!given.contains("max_delay"))
      retry.max_delay = std::max(retry.max_delay, retry.base_delay);
  }
  void adjust(window_settings& window, const json::object& given) {
    if (!given.contains("minimum_calls") && window.type == window_settings::kind::count)
      window.minimum_calls = std::max(1u, std::min(window.minimum_calls, window.size));
  }

  // ---- problems ----

  void refuse(const std::string& pointer, const std::string& what, bool hidden = false) {
    problems.push_back(
        {pointer, 0, 0, hidden ? std::string(hidden_value) : shown_value(document_, pointer), "accepted: " + what});
  }

  /// Where one or more objects belong. A text in their place may be a key, e.g. in "tenants": {"acme": "KEY"}.
  void refuse_object(const std::string& pointer, const std::string& what, const json::value& value) {
    refuse(pointer, what, value.is_string());
  }

  void refuse_unknown_key(const std::string& pointer, std::string_view key, const std::vector<std::string_view>& known);

  static std::string_view view(const json::value& text) { return {text.get_string().data(), text.get_string().size()}; }

  /// A whole number from 0 on, also one that is written as 5.0 or 1e3.
  static std::optional<std::uint64_t> whole_number(const json::value& value);

  const source_document& document_;
  bool max_cooldown_inherited_ = false; ///< the profile being read has its max_cooldown from a base that says it
};

} // namespace switchyard::detail
