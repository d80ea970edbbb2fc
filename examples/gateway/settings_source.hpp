#pragma once

// What the gateway is told by its command line and its file, at the start and at each reload.

#include "switchyard/engine/settings.hpp"
#include "switchyard/http/server.hpp"

#include <boost/system/result.hpp>

#include <memory>
#include <string>

namespace switchyard::gateway {

struct command_line {
  std::string config_file, listen, admin, data_dir;
  std::string log_format = "text"; ///< or "json"
  std::string log_level = "info";  ///< or "debug", "warning", "error"
  bool check = false;
};

struct loaded_settings {
  config settings;                             ///< with the changes of the command line
  std::shared_ptr<const http::server_tls> tls; ///< of `gateway.tls`; null without
};

/// Reads the file, and the certificate that it names. Fails with every problem, a line each: where it stands, and what
/// is accepted.
boost::system::result<loaded_settings, std::string> load_settings(const command_line& line);

/// The same for a program that runs, and must not wait for whoever may write into a pipe: only regular files are read.
boost::system::result<loaded_settings, std::string> load_settings_again(const command_line& line);

/// What cannot change while the gateway runs and is another in `next`, a line each; empty: nothing.
std::string needs_restart(const config& in_use, const config& next);

} // namespace switchyard::gateway
