#include "client_fields.hpp"

#include "switchyard/engine/header_list.hpp"

#include <cstdint> // which Beast's field.ipp forgets, up to 1.83

#include <boost/beast/http/field.hpp>

namespace switchyard::http {

using boost::beast::http::field;
using boost::beast::http::string_to_field;

namespace {

bool is_hop_by_hop(field f, std::string_view name) noexcept {
  switch (f) {
  case field::connection:
  case field::keep_alive:
  case field::te:
  case field::trailer:
  case field::transfer_encoding:
  case field::upgrade:
    return true;
  default:
    return name.size() > 6 && same_field_name(name.substr(0, 6), "Proxy-");
  }
}

std::string_view trim(std::string_view s) noexcept {
  const auto begin = s.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  return s.substr(begin, s.find_last_not_of(" \t") - begin + 1);
}

} // namespace

bool is_hop_by_hop(std::string_view name) noexcept {
  return is_hop_by_hop(string_to_field(name), name);
}

bool may_be_sent(std::string_view name) noexcept {
  const auto f = string_to_field(name);
  switch (f) {
  case field::host:
  case field::content_length:
  case field::authorization:
  case field::accept_encoding: // bodies are passed on as they are
  case field::expect:          // the body follows at once
    return false;
  default:
    return !is_hop_by_hop(f, name);
  }
}

bool may_be_returned(std::string_view name) noexcept {
  const auto f = string_to_field(name);
  return f != field::set_cookie && f != field::content_length && !is_hop_by_hop(f, name);
}

bool names_field(std::string_view connection, std::string_view name) noexcept {
  while (!connection.empty()) {
    const auto comma = connection.find(',');
    if (same_field_name(trim(connection.substr(0, comma)), name))
      return true;
    connection.remove_prefix(comma == std::string_view::npos ? connection.size() : comma + 1);
  }
  return false;
}

} // namespace switchyard::http
