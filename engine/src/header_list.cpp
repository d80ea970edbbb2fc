#include "switchyard/engine/header_list.hpp"

#include <algorithm>
#include <string_view>

namespace switchyard {

namespace {

bool is_token(std::string_view name) noexcept {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

bool is_field_value(std::string_view value) noexcept {
  return std::all_of(value.begin(), value.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u == '\t' || (u >= 0x20 && u != 0x7f);
  });
}

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

bool same_field_name(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

bool header_list::add(std::string_view name, std::string_view value) {
  if (!is_token(name) || !is_field_value(value))
    return false;
  text_.append(name).append(": ").append(value).append("\r\n");
  return true;
}

std::optional<std::string_view> header_list::find(std::string_view name) const noexcept {
  for (const auto& f : *this)
    if (same_field_name(f.name, name))
      return f.value;
  return std::nullopt;
}

void header_list::iterator::parse() noexcept {
  if (rest_.empty())
    return;
  // Every line was written by `add`: a token, ": ", a value without line ends.
  const auto end = rest_.find("\r\n");
  const auto colon = rest_.find(':');
  line_ = end + 2;
  current_ = {rest_.substr(0, colon), rest_.substr(colon + 2, end - colon - 2)};
}

std::optional<std::string_view> bearer_token(std::string_view authorization) noexcept {
  constexpr std::string_view scheme = "Bearer";
  const auto blank = authorization.find(' ');
  if (blank == authorization.npos || !same_field_name(authorization.substr(0, blank), scheme))
    return std::nullopt;
  const auto token = authorization.find_first_not_of(' ', blank); // 1*SP
  return token == authorization.npos ? std::nullopt : std::optional{authorization.substr(token)};
}

} // namespace switchyard
