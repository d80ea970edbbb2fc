#include "same_origin.hpp"

#include "switchyard/engine/setting_rules.hpp"

namespace switchyard::admin {

namespace {

// The host of a Host field, without port and brackets; nothing where it is malformed.
std::optional<std::string> host_of(std::string_view field) {
  const bool has_port = !field.ends_with(']') && field.rfind(':') != std::string_view::npos;
  const auto parsed = parse_host_port(has_port ? std::string{field} : std::string{field} + ":0");
  return parsed ? std::optional{parsed->host} : std::nullopt;
}

bool equal_hosts(std::string_view a, std::string_view b) noexcept {
  return same_field_name(a, b); // both compare ASCII without case
}

bool is_own_host(std::string_view field, std::string_view listen) {
  const auto host = host_of(field);
  if (!host)
    return false;
  const auto own = parse_host_port(listen);
  return is_loopback(*host) || equal_hosts(*host, "localhost") || (own && equal_hosts(*host, own->host));
}

// Origin is scheme://host[:port], or "null" for a page that has none.
bool is_same_origin(std::string_view origin, std::string_view host) noexcept {
  const auto scheme = origin.find("://");
  return scheme != std::string_view::npos && equal_hosts(origin.substr(scheme + 3), host);
}

} // namespace

std::optional<std::string> cross_site_refusal(const http::request& r, std::string_view listen) {
  const auto host = r.headers.find("Host");
  // HTTP/1.0 may come without; no browser sends that.
  if (host && !is_own_host(*host, listen))
    return "Host: " + std::string{*host} +
           " is not this admin plane's: without a token (admin.token_env) it answers to localhost, loopback addresses "
           "and " +
           std::string{listen};
  if (r.method == "GET" || r.method == "HEAD")
    return std::nullopt;
  const auto origin = r.headers.find("Origin");
  const auto site = r.headers.find("Sec-Fetch-Site");
  const bool foreign_origin = origin && !is_same_origin(*origin, host.value_or(std::string_view{}));
  const bool foreign_site = site && !same_field_name(*site, "same-origin") && !same_field_name(*site, "none");
  if (foreign_origin || foreign_site)
    return "a " + r.method + " from a web page of another site" + (origin ? " (" + std::string{*origin} + ")" : "") +
           " is refused: without a token (admin.token_env) only pages of this admin plane and programs that send "
           "neither Origin nor Sec-Fetch-Site may change anything";
  return std::nullopt;
}

} // namespace switchyard::admin
