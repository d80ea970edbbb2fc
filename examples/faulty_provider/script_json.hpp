#pragma once

// Small parts of scripts, written as JSON.

#include "latency_script.hpp"

#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include <cstddef>
#include <optional>

namespace faulty {

template <class Enum, class Names>
boost::json::string_view name_of(Enum e, const Names& names) {
  const auto name = names[static_cast<std::size_t>(e)];
  return {name.data(), name.size()};
}

inline boost::json::string text(duration d) {
  return boost::json::string(switchyard::format_duration(d));
}

inline void put(boost::json::object& o, const char* key, const std::optional<duration>& d) {
  if (d)
    o[key] = text(*d);
}

} // namespace faulty
