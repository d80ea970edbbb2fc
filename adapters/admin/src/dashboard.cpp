#include "dashboard.hpp"

#include <algorithm>

namespace switchyard::admin {

namespace {

constexpr std::string_view page = "index.html";

std::string_view type_of(std::string_view name) noexcept {
  if (name.ends_with(".html"))
    return "text/html; charset=utf-8";
  if (name.ends_with(".css"))
    return "text/css; charset=utf-8";
  if (name.ends_with(".svg"))
    return "image/svg+xml";
  return "text/javascript; charset=utf-8";
}

} // namespace

const embedded_file* find_dashboard_file(std::string_view path) noexcept {
  constexpr std::string_view folder = "/dashboard/";
  if (path != "/" && (!path.starts_with(folder) || path.substr(folder.size()) == page))
    return nullptr;
  const auto name = path == "/" ? page : path.substr(folder.size());
  const auto files = embedded_files();
  const auto found = std::ranges::find(files, name, &embedded_file::name);
  return found == files.end() ? nullptr : &*found;
}

header_list dashboard_headers(const embedded_file& file) {
  header_list headers;
  headers.add("Content-Type", type_of(file.name));
  // Asked for again each time: a newer gateway's page must not meet an older one's script.
  headers.add("Cache-Control", "no-store");
  headers.add("Content-Security-Policy",
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
              "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("Referrer-Policy", "no-referrer");
  headers.add("Cross-Origin-Resource-Policy", "same-origin");
  return headers;
}

} // namespace switchyard::admin
