#include "field_writer.hpp"

#include "switchyard/json/config_reference.hpp"

namespace switchyard {
namespace {

using detail::field_writer;
namespace json = boost::json;

constexpr const char* no_controls = "^[^\\u0000-\\u001f\\u007f]*$";

json::object either(json::object one, json::object other) {
  return {{"anyOf", json::array{std::move(one), std::move(other)}}};
}

json::object or_null(json::object schema) {
  return either(std::move(schema), {{"type", "null"}});
}

json::object text_of(std::string_view pattern) {
  return {{"type", "string"}, {"pattern", json::string(pattern.data(), pattern.size())}};
}

json::object names_of_ids() {
  return {{"minLength", 1}, {"maxLength", 128}, {"pattern", no_controls}};
}

json::object array_of(json::object items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

json::object map_of(json::object values) {
  return {{"type", "object"}, {"additionalProperties", std::move(values)}};
}

// ---- one schema for each rule ----

json::object schema(const flag_rule&) {
  return {{"type", "boolean"}};
}

json::object schema(const whole_rule& rule) {
  return {{"type", "integer"}, {"minimum", rule.min}, {"maximum", rule.max}};
}

json::object schema(const bytes_rule& rule) {
  constexpr const char* any = "^[0-9]+(B|KiB|MiB|GiB|KB|MB|GB)?$";
  constexpr const char* positive = "^0*[1-9][0-9]*(B|KiB|MiB|GiB|KB|MB|GB)?$";
  return either({{"type", "integer"}, {"minimum", rule.min}, {"maximum", rule.max}},
                text_of(rule.min == 0 ? any : positive));
}

json::object schema(const real_rule& rule) {
  json::object out{{"type", "number"}, {rule.above_min ? "exclusiveMinimum" : "minimum", detail::number(rule.min)}};
  if (rule.max < std::numeric_limits<double>::max())
    out["maximum"] = detail::number(rule.max);
  return out;
}

json::object schema(const span_rule& rule) {
  const bool zero = rule.min == duration::zero() && !rule.above_min;
  return text_of(zero ? "^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)$" : "^(?=[0-9.]*[1-9])[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)$");
}

template <std::size_t N>
json::object schema(const choice_rule<N>& rule) {
  json::array names;
  for (const auto name : rule.names)
    names.emplace_back(json::string(name.data(), name.size()));
  return {{"enum", std::move(names)}};
}

json::object schema(const text_rule& rule) {
  switch (rule.form) {
  case text_form::any:
    return text_of(no_controls);
  case text_form::nonempty:
  case text_form::file:
    return text_of("^[^\\u0000-\\u001f\\u007f]+$");
  case text_form::id: {
    auto out = names_of_ids();
    out["type"] = "string";
    return out;
  }
  case text_form::variable:
    return text_of("^[A-Za-z_][A-Za-z0-9_]*$");
  case text_form::endpoint:
    return text_of("^(\\[[0-9A-Fa-f:.%]+\\]|[^\\[\\]:/@?#\\s]+):[0-9]+$");
  case text_form::base_url:
    return text_of("^https?://[^/?#@\\s]+(/[^?#\\s]*)?$");
  case text_form::path:
    return text_of("^/[^#\\s]*$");
  case text_form::origin:
    return text_of("^(\\*|https?://[^/?#@\\s]+)$");
  }
  return {};
}

json::object schema(const classes_rule& rule) {
  json::array names;
  for (int i = 0; i < failure_class_count; ++i) {
    const auto f = static_cast<failure_class>(i);
    if (rule.allowed.contains(f))
      names.emplace_back(json::string(to_string(f).data(), to_string(f).size()));
  }
  return array_of({{"enum", std::move(names)}});
}

json::object schema(const json_object_rule&) {
  return {{"type", "object"}};
}

json::object schema(const window_size_rule& rule) {
  return either(schema(rule.count), schema(rule.time));
}

json::object schema(const headers_rule&) {
  json::object from_environment{{"type", "object"},
                                {"properties", json::object{{"env", schema(text_rule{text_form::variable})}}},
                                {"required", json::array{"env"}},
                                {"additionalProperties", false}};
  auto out = map_of(either({{"type", "string"}}, std::move(from_environment)));
  out["propertyNames"] = json::object{{"pattern", "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"}};
  return out;
}

// ---- one schema for each shape of a member ----

template <class S>
json::object schema_of_object();

template <class M, class Rule>
struct member_schema {
  static json::object of(const Rule& rule, presence) { return schema(rule); }
};
template <class Rule>
struct member_schema<std::vector<std::string>, Rule> {
  static json::object of(const Rule& rule, presence) { return array_of(schema(rule)); }
};
template <class Rule>
struct member_schema<std::map<std::string, std::string>, Rule> {
  static json::object of(const Rule& rule, presence) { return map_of(schema(rule)); }
};
template <described S>
struct member_schema<S, nested_rule> {
  static json::object of(const nested_rule&, presence) { return schema_of_object<S>(); }
};
template <described S>
struct member_schema<std::vector<S>, nested_rule> {
  static json::object of(const nested_rule&, presence) { return array_of(schema_of_object<S>()); }
};
template <described S>
struct member_schema<std::map<std::string, S>, nested_rule> {
  static json::object of(const nested_rule&, presence need) {
    auto out = map_of(schema_of_object<S>());
    out["propertyNames"] = names_of_ids();
    if (need == presence::required)
      out["minProperties"] = 1;
    return out;
  }
};
template <class M, class Rule>
struct member_schema<std::optional<M>, Rule> {
  static json::object of(const Rule& rule, presence need) { return or_null(member_schema<M, Rule>::of(rule, need)); }
};

/// Collects the properties of one object.
template <class S>
class property_list {
public:
  template <class M, class Rule>
  void add(const field<S, M, Rule>& row) {
    auto property = member_schema<M, Rule>::of(row.rule, row.need);
    if (row.need == presence::required)
      required_.emplace_back(json::string(row.key.data(), row.key.size()));
    else if (auto value = field_writer{}.write_row(S{}, row); value && !described<M>)
      property["default"] = std::move(*value);
    put(row.key, row.doc, std::move(property));
  }

  template <class... Fields>
  void add(const group<Fields...>& row) {
    property_list inside;
    for_each_row(row.fields, [&](const auto& field) { inside.add(field); });
    auto property = or_null(inside.finish());
    property["default"] = nullptr;
    put(row.key, row.doc, std::move(property));
  }

  template <class Rule>
  void add(const file_only_field<Rule>& row) {
    put(row.key, row.doc, schema(row.rule));
  }

  json::object finish() {
    json::object out{{"type", "object"}, {"properties", std::move(properties_)}, {"additionalProperties", false}};
    if (!required_.empty())
      out["required"] = std::move(required_);
    return out;
  }

private:
  void put(std::string_view key, std::string_view doc, json::object property) {
    property["description"] = json::string(doc.data(), doc.size());
    properties_[json::string_view(key.data(), key.size())] = std::move(property);
  }

  json::object properties_;
  json::array required_;
};

template <class S>
json::object schema_of_object() {
  property_list<S> properties;
  for_each_row(fields_of<S>::rows, [&](const auto& row) { properties.add(row); });
  return properties.finish();
}

} // namespace

boost::json::object config_schema() {
  json::object out{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Switchyard configuration"}};
  for (auto& member : schema_of_object<config>())
    out[member.key()] = std::move(member.value());
  return out;
}

} // namespace switchyard
