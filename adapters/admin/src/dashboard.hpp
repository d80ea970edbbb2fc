#pragma once

#include "embedded_files.hpp"

#include "switchyard/engine/header_list.hpp"

#include <string_view>

namespace switchyard::admin {

/// The dashboard's file at a path: the page itself at /, the rest under /dashboard/. Null where there is none. The
/// files are the same for everybody and hold no figures: the page's script asks the API for those.
const embedded_file* find_dashboard_file(std::string_view path) noexcept;

/// The headers of its answer: type and Content-Security-Policy. Nothing but the page's own files and API may be loaded,
/// nothing inline runs, and no other page may show it in a frame, where a click could be stolen.
header_list dashboard_headers(const embedded_file& file);

} // namespace switchyard::admin
