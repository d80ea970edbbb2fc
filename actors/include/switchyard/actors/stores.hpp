#pragma once

// What the actors need of a disk. The RocksDB adapter implements both; a program may bring its own.

#include "switchyard/engine/budget.hpp"
#include "switchyard/engine/idempotency_ledger.hpp"
#include "switchyard/engine/telemetry.hpp"
#include "switchyard/engine/time.hpp"
#include "switchyard/engine/usage.hpp"

#include <boost/system/result.hpp>
#include <boost/throw_exception.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace switchyard {

/// Why a store could not do what was asked.
struct store_error {
  enum class kind : std::uint8_t { io, full, corrupt, locked, closed } what = kind::io;
  std::string message; ///< for a person: what and where; no key, no content
};

/// Lets `boost::system::result<T, store_error>::value()` throw what the error says, as a std::runtime_error.
[[noreturn]] inline void throw_exception_from_error(const store_error& e, const boost::source_location& where) {
  boost::throw_with_location(std::runtime_error(e.message), where);
}

template <class T>
using store_result = boost::system::result<T, store_error>;

/// Which rows are wanted; every absent field matches all.
struct telemetry_query {
  std::optional<wall_time> since, until; ///< by the row's time, since <= time < until
  std::string provider;                  ///< rows of this provider; empty: all
  std::string request_id;                ///< rows of this request; empty: all
  std::size_t limit = 100;               ///< at most so many rows, 1..10000
};

/// A row with the id of its request.
struct telemetry_row {
  std::string request_id;
  std::variant<request_row, attempt_row> row;
};

/// The telemetry log. `append` is called by one thread at a time; `query` and `scan` by any. All may block.
class telemetry_log {
public:
  virtual ~telemetry_log() = default;

  /// Writes all of the records and adds to the usage, or does nothing. `usage` is not only that of these records: who
  /// calls keeps what could not be written before.
  virtual store_result<void> append(std::span<const std::shared_ptr<const telemetry_record>> records,
                                    const usage_sums& usage) = 0;

  /// Rows, newest first.
  virtual store_result<std::vector<telemetry_row>> query(const telemetry_query& q) = 0;

  /// The usage of the hours that began at or after `since` and before `until` [U2]. May be summed up over the hours,
  /// with keys whose hour says nothing: a month of hours has more keys than a sum takes.
  virtual store_result<usage_sums> usage(wall_time since, wall_time until) = 0;

  /// Every record whose request began at or after `since`, oldest first, for rebuilding read models [H5].
  virtual store_result<void> scan(wall_time since, const std::function<void(const telemetry_record&)>& each) = 0;
};

/// One change of what is stored of a key.
struct key_change {
  std::string scope;                           ///< idempotency_scope::str()
  std::shared_ptr<const stored_answer> record; ///< null: nothing is known of the key any more
};

/// What is stored of idempotency keys: reservations and answers. Thread-safe; may block.
class answer_store {
public:
  virtual ~answer_store() = default;

  /// What is stored for a scope, expired or not; null when there is nothing.
  virtual store_result<std::shared_ptr<const stored_answer>> find(const std::string& scope) = 0;

  /// Makes all of the changes, in order, or none; durable as configured [I11] when it returns.
  virtual store_result<void> write(std::span<const key_change> changes) = 0;

  /// One record alone.
  store_result<void> put(const std::string& scope, const stored_answer& record) {
    const key_change change{scope, std::make_shared<const stored_answer>(record)};
    return write({&change, 1});
  }
};

/// The state of budgets, so that a restart does not reset them [U1]. Called by one thread at a time; may block.
class budget_store {
public:
  virtual ~budget_store() = default;

  /// Every ledger that was written. One that cannot be read is left out, and logged.
  virtual store_result<std::vector<stored_budget>> load() = 0;

  /// Writes all of the ledgers or none. What is written survives the end of the process, however it comes.
  virtual store_result<void> write(std::span<const stored_budget> ledgers) = 0;
};

} // namespace switchyard
