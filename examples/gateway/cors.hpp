#pragma once

// Which web pages may call the gateway (Fetch standard, "CORS protocol"). Credentials in its sense, cookies and the
// like, are never allowed: the gateway uses none, and a tenant's key is a header that the page itself must know.

#include "switchyard/http/server.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::gateway {

/// Constant, so thread-safe.
class cors {
public:
  /// The origins of `gateway.cors`; none: off, `*`: every page.
  explicit cors(std::vector<std::string> origins);

  bool enabled() const noexcept { return !origins_.empty(); }

  /// What every answer to a request with these headers carries.
  header_list answer_fields(const header_list& request) const;

  /// Whether an OPTIONS request asks in a page's name what it may send.
  static bool is_preflight(const header_list& request) noexcept;
  /// What the answer to that carries besides; `methods` are those of the path. Nothing for other pages' requests.
  header_list preflight_fields(const header_list& request, std::string_view methods) const;

private:
  bool allows(std::string_view origin) const noexcept;

  std::vector<std::string> origins_;
  bool any_ = false;
};

/// The same exchange, each of whose answers carries `fields` too.
std::shared_ptr<http::exchange> with_fields(std::shared_ptr<http::exchange> x, header_list fields);

/// Appends `more` to `fields`.
void append(header_list& fields, const header_list& more);

} // namespace switchyard::gateway
