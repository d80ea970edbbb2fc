#pragma once

// Where a provider's requests go, and the part of their heads that is the same for all of them.

#include "switchyard/actors/provider.hpp"
#include "switchyard/engine/settings.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/system/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::http {

class client_target {
public:
  /// From base_url, query, headers and api_key. Fails with a text that names the wrong value, unless it is a secret.
  static boost::system::result<client_target, std::string> make(const provider_settings& settings);

  bool tls() const noexcept { return tls_; }
  const std::string& host() const noexcept { return host_; } ///< without brackets
  std::uint16_t port() const noexcept { return port_; }
  /// The address, when the URL has one instead of a name.
  const std::optional<boost::asio::ip::address>& address() const noexcept { return address_; }

  /// Whether a request's path can stand in a request line.
  static bool is_path(std::string_view path) noexcept;

  /// Writes the whole head of a request over `out`. The path must be one.
  void write_head(std::string& out, const provider_request& request) const;

  /// Blots out this provider's own keys: some providers repeat them in their errors, which go to clients that must not
  /// know them.
  void redact(std::string& text) const;

private:
  client_target() = default;
  std::optional<std::string> read_url(const std::string& url);
  std::optional<std::string> read_headers(const provider_settings& settings);
  void write_fields(std::string& out, const header_list& fields) const;
  bool sets(std::string_view name) const noexcept;
  void keep_secret(std::string_view value);

  bool tls_ = false;
  std::string host_;
  std::uint16_t port_ = 0;
  std::optional<boost::asio::ip::address> address_;
  std::string start_;  ///< "POST /base"
  std::string query_;  ///< "a=1&b=2", percent-encoded, or empty
  std::string fields_; ///< from " HTTP/1.1" to the last fixed field
  std::vector<std::string> secrets_;
  std::vector<std::string> names_; ///< fields that the provider's configuration sets
};

} // namespace switchyard::http
