#pragma once

#include "adapters/http/server/raw_client.hpp"
#include "support/temp_dir.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace switchyard::gateway::test {

using switchyard::test::temp_dir;

/// The gateway's program with these arguments, started by `launcher` if there is one; what it says goes to out.log and
/// err.log in `folder`. Killed when destroyed while it runs.
class gateway_process {
public:
  gateway_process(const temp_dir& folder, std::vector<std::string> arguments, std::vector<std::string> launcher = {});
  ~gateway_process();
  gateway_process(const gateway_process&) = delete;
  gateway_process& operator=(const gateway_process&) = delete;

  /// Waits for the ready line. Throws when the program ends before.
  void wait_ready();
  void signal(int number) const;
  /// The exit status; 128 and more for the end by a signal. Throws when it does not end within a minute.
  int wait_end();

  /// A connection to the data plane.
  http::test::raw_client client() const { return http::test::raw_client(port_); }
  pid_t pid() const noexcept { return pid_; }
  std::uint16_t port() const noexcept { return port_; }
  std::uint16_t admin_port() const noexcept { return admin_port_; }

private:
  const temp_dir& folder_;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0, admin_port_ = 0;
};

} // namespace switchyard::gateway::test
