#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace switchyard::crash_test {

/// A whole answer.
struct reply {
  int status = 0;
  std::string body;
  bool replayed = false;
};

/// One submit of a key, whose body names the key too; nothing when the connection broke before its answer was whole.
/// `tenant_key` may be empty.
boost::asio::awaitable<std::optional<reply>> submit(std::uint16_t port, std::string key, std::string request_id,
                                                    std::string tenant_key = {});

/// The same, waited for.
std::optional<reply> submit_and_wait(std::uint16_t port, const std::string& key, const std::string& request_id);

/// Clients that submit keys, some of which they share, each one until it is answered, and keys that were answered once
/// more. All run on one thread. What came of it is read after `finish`.
class retrying_clients {
public:
  static constexpr unsigned count = 64;

  retrying_clients(std::uint16_t port, std::uint64_t seed, std::string tenant_key = {});
  ~retrying_clients();
  retrying_clients(const retrying_clients&) = delete;
  retrying_clients& operator=(const retrying_clients&) = delete;

  /// Waits until each has ended what it has begun.
  void finish();

  /// The first answer of each key that has one.
  const std::map<std::string, std::string>& answers() const { return answers_; }
  /// Keys that were refused as interrupted.
  const std::set<std::string>& interrupted() const { return interrupted_; }
  /// How often something had to be tried again.
  std::uint64_t retries() const { return retries_; }
  /// What should not have happened.
  const std::vector<std::string>& problems() const { return problems_; }

private:
  boost::asio::awaitable<void> run(unsigned number);
  boost::asio::awaitable<bool> submit_until_answered(unsigned number, std::string key);
  void heard(const std::string& key, const reply& r);

  std::uint16_t port_;
  std::string tenant_key_;
  std::uint64_t retries_ = 0;
  std::mt19937_64 random_;
  std::atomic<bool> stop_{false};
  std::map<std::string, std::string> answers_;
  std::set<std::string> interrupted_;
  std::vector<std::string> problems_;
  boost::asio::io_context context_{1};
  std::thread thread_;
};

} // namespace switchyard::crash_test
