#include "gateway_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace switchyard::gateway::test {

namespace {

constexpr std::chrono::minutes patience{1};

} // namespace

gateway_process::gateway_process(const temp_dir& folder, std::vector<std::string> arguments,
                                 std::vector<std::string> launcher)
    : folder_(folder) {
  arguments.insert(arguments.begin(), SWITCHYARD_GATEWAY);
  arguments.insert(arguments.begin(), launcher.begin(), launcher.end());
  std::vector<char*> raw;
  for (auto& a : arguments)
    raw.push_back(a.data());
  raw.push_back(nullptr);
  const auto out = (folder.path() / "out.log").string(), err = (folder.path() / "err.log").string();
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), flags, 0600);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), flags, 0600);
  const int failed = ::posix_spawnp(&pid_, raw[0], &files, nullptr, raw.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed)
    throw std::system_error(failed, std::generic_category(), raw[0]);
}

gateway_process::~gateway_process() {
  if (pid_ < 0)
    return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void gateway_process::wait_ready() {
  for (const auto end = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < end;) {
    const auto said = folder_.read("out.log");
    for (const std::string begin : {"ready gateway=http://127.0.0.1:", "ready gateway=https://127.0.0.1:"}) {
      if (said.starts_with(begin) && said.find('\n') != std::string::npos) {
        port_ = static_cast<std::uint16_t>(std::stoi(said.substr(begin.size())));
        const std::string admin = " admin=http://127.0.0.1:";
        if (const auto at = said.find(admin); at != std::string::npos)
          admin_port_ = static_cast<std::uint16_t>(std::stoi(said.substr(at + admin.size())));
        return;
      }
    }
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid_)
      throw std::runtime_error("the gateway ended: " + folder_.read("err.log"));
    std::this_thread::yield();
  }
  throw std::runtime_error("the gateway was not ready in time: " + folder_.read("err.log"));
}

void gateway_process::signal(int number) const {
  ::kill(pid_, number);
}

int gateway_process::wait_end() {
  // A descriptor that becomes readable when the process ends.
  const auto ended = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (ended < 0)
    throw std::system_error(errno, std::generic_category(), "pidfd_open");
  pollfd readable{ended, POLLIN, 0};
  const int count = ::poll(&readable, 1, static_cast<int>(std::chrono::milliseconds{patience}.count()));
  ::close(ended);
  if (count != 1)
    throw std::runtime_error("the gateway did not end within a minute: " + folder_.read("err.log"));
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace switchyard::gateway::test
