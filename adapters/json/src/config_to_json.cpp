#include "switchyard/json/config_to_json.hpp"

#include "field_writer.hpp"
#include "read_config.hpp"

#include "switchyard/engine/fallback_plan.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <array>

namespace switchyard {
namespace detail {

bool names_a_secret(std::string_view name) {
  constexpr std::array<std::string_view, 7> words{"key", "token", "secret", "password", "passwd", "auth", "sig"};
  const auto folded = fold_route_id(name);
  return std::ranges::any_of(words, [&](std::string_view word) { return folded.find(word) != folded.npos; });
}

std::optional<json::value> field_writer::write(failure_set value, const classes_rule&) const {
  json::array names;
  for (int i = 0; i < failure_class_count; ++i) {
    if (const auto f = static_cast<failure_class>(i); value.contains(f))
      names.push_back(text(to_string(f)));
  }
  return json::value(std::move(names));
}

std::optional<json::value> field_writer::write(const std::string& value, const json_object_rule&) const {
  if (value.empty())
    return std::nullopt;
  boost::system::error_code error;
  auto parsed = json::parse(value, error);
  return error ? text(value) : std::move(parsed);
}

std::optional<json::value> field_writer::write(const std::map<std::string, header_value>& headers,
                                               const headers_rule&) const {
  json::object out;
  for (const auto& [name, header] : headers) {
    if (header.secret_env.empty())
      out.emplace(name, text(hidden_value));
    else
      out.emplace(name, json::object{{"env", header.secret_env}});
  }
  return json::value(std::move(out));
}

std::optional<json::value> field_writer::write(const std::map<std::string, std::string>& values,
                                               const text_rule&) const {
  json::object out;
  for (const auto& [name, value] : values)
    out.emplace(name, text(names_a_secret(name) ? hidden_value : value));
  return json::value(std::move(out));
}

std::optional<json::value> field_writer::write(const std::vector<std::string>& values, const text_rule& rule) const {
  // An array that must not be empty is left out instead.
  if (values.empty() && rule.form == text_form::origin)
    return std::nullopt;
  json::array out;
  for (const auto& value : values)
    out.push_back(text(value));
  return json::value(std::move(out));
}

std::optional<json::value> field_writer::write(const std::map<std::string, route_settings>& routes,
                                               const nested_rule&) const {
  json::object out;
  if (settings_ != nullptr) {
    for (const auto& name : settings_->route_order) {
      if (const auto route = routes.find(fold_route_id(name)); route != routes.end())
        out.emplace(name, write_object(route->second));
    }
  }
  return json::value(std::move(out));
}

} // namespace detail

boost::json::object config_to_json(const config& settings) {
  return detail::field_writer{&settings}.write_object(settings);
}

} // namespace switchyard
