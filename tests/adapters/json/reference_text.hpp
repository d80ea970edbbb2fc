#pragma once

// The configuration reference as texts.

#include "switchyard/json/config_reference.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <ostream>
#include <string>

namespace switchyard::test {

/// The row of one key in docs/configuration.md.
inline std::string markdown_row(const config_key& key) {
  const std::string value = key.required                ? "required"
                            : key.default_value.empty() ? "none"
                                                        : "`" + key.default_value + "`";
  return "| `" + key.pointer + "` | " + key.accepted + " | " + value + " | " + key.doc + " |";
}

/// A table for each top-level key.
inline std::string markdown() {
  std::string text, section;
  for (const auto& key : config_reference()) {
    if (const auto top = key.pointer.substr(1, key.pointer.find('/', 1) - 1); top != section) {
      section = top;
      text += "\n### " + section + "\n\n| key | accepted | default | |\n|---|---|---|---|\n";
    }
    text += markdown_row(key) + "\n";
  }
  return text;
}

/// JSON with two spaces of indentation for each level.
inline void write_pretty(std::ostream& out, const boost::json::value& value, const std::string& indent = "") {
  const auto inner = indent + "  ";
  const char* separator = "\n";
  if (value.is_object() && !value.get_object().empty()) {
    out << '{';
    for (const auto& member : value.get_object()) {
      out << separator << inner << boost::json::serialize(member.key()) << ": ";
      write_pretty(out, member.value(), inner);
      separator = ",\n";
    }
    out << '\n' << indent << '}';
  } else if (value.is_array() && !value.get_array().empty() && !value.get_array()[0].is_string()) {
    out << '[';
    for (const auto& item : value.get_array()) {
      out << separator << inner;
      write_pretty(out, item, inner);
      separator = ",\n";
    }
    out << '\n' << indent << ']';
  } else {
    out << boost::json::serialize(value);
  }
}

} // namespace switchyard::test
