#pragma once

// RocksDB's own log file is off: when the disk is full, RocksDB 7.8.3 aborts the process while it writes it. Warnings
// and errors go to the program's log instead, the rest is not even formatted.

#include "switchyard/rocksdb/database.hpp"

#include <rocksdb/env.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

namespace switchyard::store {

class forwarding_logger final : public rocksdb::Logger {
public:
  explicit forwarding_logger(std::function<void(log_level, const std::string&)> log)
      : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL), log_(std::move(log)) {}
  ~forwarding_logger() override { Close().PermitUncheckedError(); }

  using rocksdb::Logger::Logv;
  void Logv(const char*, std::va_list) override {} // only reached by messages without a level: chatter
  void LogHeader(const char*, std::va_list) override {}
  void Logv(rocksdb::InfoLogLevel level, const char* format, std::va_list arguments) override {
    if (!log_ || level < rocksdb::InfoLogLevel::WARN_LEVEL || level > rocksdb::InfoLogLevel::FATAL_LEVEL)
      return;
    std::array<char, 1024> text; // longer ones are cut
    const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
    if (length <= 0)
      return;
    const std::string_view line{text.data(), std::min<std::size_t>(static_cast<std::size_t>(length), text.size() - 1)};
    if (!line.starts_with("DB::Open() failed") && line.find("] DB::Open() failed") == line.npos) // its caller says why
      forward(level == rocksdb::InfoLogLevel::WARN_LEVEL ? log_level::warning : log_level::error, line);
  }

  /// Hands a message to the program's log.
  void forward(log_level level, std::string_view text) const noexcept {
    if (!log_)
      return;
    try {
      log_(level, std::string(text.substr(0, text.find_last_not_of("\r\n ") + 1)));
    } catch (...) {
      // A log that fails must not unwind through RocksDB, which is not exception-safe [C15].
    }
  }

private:
  std::function<void(log_level, const std::string&)> log_;
};

} // namespace switchyard::store
