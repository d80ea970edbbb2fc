#include "log_losses.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>

namespace switchyard::store {
namespace fs = std::filesystem;
namespace {

// The format of RocksDB's log files (db/log_format.h there): blocks of 32 KiB hold records of
//   checksum (4 bytes), length (2), type (1), payload
// and a write that does not fit into the rest of a block is split into a first, middle and last record.
constexpr std::size_t block_size = 32 * 1024;
constexpr std::size_t header_size = 7;
enum record_type : std::uint8_t { zero = 0, full = 1, first = 2, middle = 3, last = 4 };

// A write begins with the number of its first entry (8 bytes) and the count of its entries (4).
constexpr std::size_t write_header_size = 12;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// One log: the entries of its whole writes, and what comes after them.
class log_scan {
public:
  explicit log_scan(std::string_view bytes) : bytes_(bytes) {
    while (next_record()) {
    }
  }

  /// Bytes behind the last whole write. What RocksDB would call damage counts as no loss.
  std::size_t torn() const { return damaged_ ? 0 : bytes_.size() - whole_; }
  /// Whether zeros follow where a write should.
  bool ends_in_zeros() const { return zeros_; }
  std::optional<std::uint64_t> first_entry; ///< none in a log without a whole write
  std::uint64_t next_entry = 0;             ///< the number that follows the last entry
  std::uint64_t missing = 0;                ///< entries between its writes

private:
  bool next_record() {
    const auto rest_of_block = block_size - at_ % block_size;
    if (rest_of_block < header_size)
      at_ += rest_of_block; // filled up with zeros
    if (at_ + header_size > bytes_.size()) {
      // The end, or a part of a record's head. The filling of a block may be cut off too: nothing is lost with it.
      if (at_ >= bytes_.size() && !in_write_)
        whole_ = bytes_.size();
      return false;
    }
    const auto length = static_cast<std::size_t>(little_endian(bytes_.substr(at_ + 4, 2)));
    const auto type = static_cast<std::uint8_t>(bytes_[at_ + 6]);
    zeros_ = type == zero && length == 0; // which the file system put where data had not arrived
    if (zeros_ || at_ + header_size + length > bytes_.size())
      return false;
    if (type < full || type > last) {
      damaged_ = true;
      return false;
    }
    take(static_cast<record_type>(type), bytes_.substr(at_ + header_size, length));
    at_ += header_size + length;
    if (type == full || type == last)
      end_write();
    return true;
  }

  void take(record_type type, std::string_view payload) {
    if (type == full || type == first)
      head_.clear();
    in_write_ = true;
    if (head_.size() < write_header_size)
      head_.append(payload.substr(0, write_header_size - head_.size()));
  }

  void end_write() {
    whole_ = at_;
    in_write_ = false;
    if (head_.size() == write_header_size) {
      const auto entry = little_endian(std::string_view(head_).substr(0, 8));
      if (!first_entry)
        first_entry = entry;
      else if (entry > next_entry)
        missing += entry - next_entry;
      // Never back: RocksDB may begin a log with an empty write of a number that it has used.
      next_entry = std::max(next_entry, entry + little_endian(std::string_view(head_).substr(8, 4)));
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0, whole_ = 0;
  std::string head_; ///< of the write being read: its numbers
  bool in_write_ = false;
  bool damaged_ = false, zeros_ = false;
};

/// The logs in their order.
std::map<std::uint64_t, fs::path> logs_in(const fs::path& directory, bool& was_open) {
  std::map<std::uint64_t, fs::path> logs;
  std::error_code failed;
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end; it.increment(failed)) {
    const auto name = it->path().filename().string();
    std::uint64_t number = 0;
    const auto [stop, none] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (none == std::errc{} && std::string_view(stop) == ".log")
      logs.emplace(number, it->path());
    was_open = was_open || name.starts_with("OPTIONS-"); // written at the end of an opening
  }
  return logs;
}

std::string read_file(const fs::path& path) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  std::string bytes(failed ? 0 : size, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

std::string torn_end(const log_scan& log) {
  const auto bytes = std::to_string(log.torn()) + " bytes, ";
  if (log.ends_in_zeros())
    return " ends in zeros: its last " + bytes +
           "writes of idempotency keys and telemetry rows, how many is not known, are lost";
  return " ends within a write: its last " + bytes +
         "idempotency keys or telemetry rows that were written together, are lost";
}

std::string entries(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " entry" : " entries");
}

} // namespace

std::vector<std::string> find_log_losses(const fs::path& directory) {
  std::vector<std::string> losses;
  bool was_open = false;
  const auto logs = logs_in(directory, was_open);
  if (logs.empty() && was_open)
    losses.push_back("the write-ahead log in " + directory.string() +
                     " is missing: telemetry rows and answers of idempotency keys that were not in tables yet are "
                     "lost, how many is not known");
  std::optional<std::uint64_t> expected; // the number of the next entry
  for (const auto& [number, path] : logs) {
    const auto bytes = read_file(path);
    const log_scan log(bytes);
    const auto lost =
        log.missing + (expected && log.first_entry && *log.first_entry > *expected ? *log.first_entry - *expected : 0);
    if (lost > 0)
      losses.push_back("the write-ahead log in " + directory.string() + " has a gap before or in " +
                       path.filename().string() + ": " + entries(lost) +
                       " (telemetry rows, answers of idempotency keys) are lost");
    if (log.torn() > 0)
      losses.push_back("the write-ahead log " + path.string() + torn_end(log));
    if (log.first_entry)
      expected = std::max(expected.value_or(0), log.next_entry);
  }
  return losses;
}

} // namespace switchyard::store
