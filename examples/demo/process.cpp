#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace demo {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds start_limit{20}, stop_limit{5};

pid_t spawn(const std::vector<std::string>& command, int out, const std::string& log) {
  std::vector<char*> arguments;
  for (const auto& a : command)
    arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed)
    throw std::runtime_error("cannot start " + command[0] + ": " + std::strerror(failed));
  return pid;
}

// The first line of `in` that begins with "ready ".
std::string read_ready_line(int in, const std::string& program) {
  std::string text;
  for (const auto end = clock::now() + start_limit;;) {
    for (std::size_t stop; (stop = text.find('\n')) != std::string::npos; text.erase(0, stop + 1))
      if (text.starts_with("ready "))
        return text.substr(0, stop);
    const auto left = std::chrono::ceil<milliseconds>(end - clock::now()).count();
    pollfd readable{in, POLLIN, 0};
    char buffer[512];
    ssize_t got = 0;
    if (left <= 0 || poll(&readable, 1, static_cast<int>(left)) == 0)
      throw std::runtime_error(program + " was not ready in time");
    if ((got = read(in, buffer, sizeof buffer)) <= 0)
      throw std::runtime_error(program + " ended before it was ready");
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

} // namespace

process::process(const std::vector<std::string>& command, const std::filesystem::path& log) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe");
  out_ = ends[0];
  try {
    pid_ = spawn(command, ends[1], log.string());
  } catch (...) {
    close(ends[1]);
    close(out_);
    throw;
  }
  close(ends[1]);
  try {
    ready_ = read_ready_line(out_, command[0]);
  } catch (const std::exception& e) {
    this->~process();
    throw std::runtime_error(std::string{e.what()} + "; see " + log.string());
  }
}

process::~process() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    int status = 0;
    for (const auto end = clock::now() + stop_limit; waitpid(pid_, &status, WNOHANG) == 0;) {
      if (clock::now() > end)
        kill(pid_, SIGKILL);
      poll(nullptr, 0, 10);
    }
    pid_ = -1;
  }
  if (out_ >= 0)
    close(out_);
  out_ = -1;
}

std::string process::ready_value(const std::string& name) const {
  const auto at = ready_.find(" " + name + "=");
  if (at == std::string::npos)
    throw std::runtime_error("no " + name + " in: " + ready_);
  const auto begin = at + name.size() + 2;
  return ready_.substr(begin, ready_.find(' ', begin) - begin);
}

temporary_folder::temporary_folder() {
  auto name = (std::filesystem::temp_directory_path() / "switchyard-demo.XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw std::system_error(errno, std::generic_category(), "a temporary folder");
  path_ = name;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

} // namespace demo
