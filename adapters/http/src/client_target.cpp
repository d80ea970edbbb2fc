#include "client_target.hpp"

#include "client_fields.hpp"

#include <boost/algorithm/string/replace.hpp>
#include <boost/url/encode.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <boost/url/url_view.hpp>

#include <algorithm>
#include <charconv>

namespace switchyard::http {

namespace urls = boost::urls;

namespace {

/// A shorter value is a word that a text may hold by chance.
constexpr std::size_t shortest_secret = 8;

std::string encoded(std::string_view text) {
  return urls::encode(text, urls::unreserved_chars);
}

/// The most a request's head takes beyond its fixed part and its fields.
constexpr std::size_t head_slack = 96;

} // namespace

boost::system::result<client_target, std::string> client_target::make(const provider_settings& settings) {
  client_target t;
  if (auto error = t.read_url(settings.base_url))
    return *std::move(error);
  for (const auto& [name, value] : settings.query) {
    if (!t.query_.empty())
      t.query_ += '&';
    t.query_.append(encoded(name)).append("=").append(encoded(value));
  }
  if (auto error = t.read_headers(settings))
    return *std::move(error);
  return t;
}

std::optional<std::string> client_target::read_url(const std::string& url) {
  const auto parsed = urls::parse_uri(url);
  if (!parsed)
    return "base_url is not a URL";
  const urls::url_view u = *parsed;
  if (u.has_userinfo()) // may be a password: not repeated
    return "base_url must not have a user or password";
  const auto scheme = u.scheme_id();
  if (scheme != urls::scheme::http && scheme != urls::scheme::https)
    return "base_url must begin with http:// or https://: " + url;
  if (u.has_query() || u.has_fragment())
    return "base_url must have neither query nor fragment: " + url;
  host_ = u.host_address();
  if (host_.empty() || u.host_type() == urls::host_type::ipvfuture || !is_path("/" + host_))
    return "base_url has no usable host: " + url;

  tls_ = scheme == urls::scheme::https;
  const std::uint16_t usual = tls_ ? 443 : 80;
  port_ = usual;
  if (const std::string_view port{u.port().data(), u.port().size()}; !port.empty()) {
    const auto read = std::from_chars(port.data(), port.data() + port.size(), port_);
    if (read.ec != std::errc{} || port_ == 0)
      return "base_url has no usable port: " + url;
  }
  boost::system::error_code ec;
  if (const auto address = boost::asio::ip::make_address(host_, ec); !ec)
    address_ = address;

  std::string_view path{u.encoded_path().data(), u.encoded_path().size()};
  while (path.ends_with('/'))
    path.remove_suffix(1);
  start_.append("POST ").append(path);
  fields_ = " HTTP/1.1\r\nHost: ";
  fields_.append(address_ && address_->is_v6() ? "[" + host_ + "]" : host_);
  if (port_ != usual)
    fields_.append(":").append(std::to_string(port_));
  fields_.append("\r\nAccept-Encoding: identity\r\n");
  return std::nullopt;
}

std::optional<std::string> client_target::read_headers(const provider_settings& settings) {
  header_list fixed;
  for (const auto& [name, value] : settings.headers) {
    const bool authorization = same_field_name(name, "Authorization");
    if (!authorization && !may_be_sent(name))
      return "header " + encoded(name) + " is set by the client itself";
    if (!fixed.add(name, value.secret_env.empty() ? std::string_view{value.text} : value.value.reveal()))
      return "header " + encoded(name) + " cannot be sent: its name or value has a character that is not allowed";
    names_.push_back(name);
    keep_secret(value.value.reveal());
  }
  keep_secret(settings.api_key.reveal());
  if (!settings.api_key.empty() && !sets("Authorization") &&
      !fixed.add("Authorization", std::string("Bearer ").append(settings.api_key.reveal())))
    return "the API key has a character that is not allowed in a header";
  fields_ += fixed.text();
  return std::nullopt;
}

void client_target::keep_secret(std::string_view value) {
  if (value.size() >= shortest_secret)
    secrets_.emplace_back(value);
}

void client_target::redact(std::string& text) const {
  for (const auto& s : secrets_)
    boost::algorithm::replace_all(text, s, "***");
}

bool client_target::is_path(std::string_view path) noexcept {
  return path.starts_with('/') &&
         std::all_of(path.begin(), path.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

bool client_target::sets(std::string_view name) const noexcept {
  return std::any_of(names_.begin(), names_.end(), [&](const auto& n) { return same_field_name(n, name); });
}

void client_target::write_fields(std::string& out, const header_list& fields) const {
  const auto connection = fields.find("Connection");
  for (const auto& f : fields)
    if (may_be_sent(f.name) && !sets(f.name) && !(connection && names_field(*connection, f.name)))
      out.append(f.name).append(": ").append(f.value).append("\r\n");
}

void client_target::write_head(std::string& out, const provider_request& request) const {
  const auto* fields = request.headers.get();
  out.clear();
  out.reserve(start_.size() + request.path.size() + query_.size() + fields_.size() +
              (fields ? fields->text().size() : 0) + head_slack);
  out.append(start_).append(request.path);
  if (!query_.empty())
    out.append(1, request.path.find('?') == std::string::npos ? '?' : '&').append(query_);
  out.append(fields_);
  if (!sets("Content-Type") && !(fields && fields->contains("Content-Type")))
    out.append("Content-Type: application/json\r\n");
  if (fields)
    write_fields(out, *fields);
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, request.body ? request.body->size() : 0).ptr;
  out.append("Content-Length: ").append(digits, end).append("\r\n\r\n");
}

} // namespace switchyard::http
