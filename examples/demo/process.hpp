#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace demo {

/// A child process whose output is read until it says that it is ready. Ended with SIGTERM when destroyed, by
/// SIGKILL if it stays.
class process {
public:
  /// Starts it; its messages go to `log`. Throws std::runtime_error when it cannot be started or ends before a line
  /// that begins with "ready " came.
  process(const std::vector<std::string>& command, const std::filesystem::path& log);
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  /// The value of NAME=VALUE in the ready line.
  std::string ready_value(const std::string& name) const;

private:
  pid_t pid_ = -1;
  int out_ = -1;
  std::string ready_;
};

/// A folder that goes with its object.
class temporary_folder {
public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace demo
