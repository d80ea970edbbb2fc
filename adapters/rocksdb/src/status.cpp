#include "status.hpp"

namespace switchyard::store {
namespace {

store_error::kind kind_of(const rocksdb::Status& s) {
  if (s.IsNoSpace() || s.subcode() == rocksdb::Status::kSpaceLimit)
    return store_error::kind::full;
  if (s.IsCorruption())
    return store_error::kind::corrupt;
  if (s.IsShutdownInProgress())
    return store_error::kind::closed;
  return store_error::kind::io;
}

/// RocksDB has no code of its own for a lock that is taken: across processes it is an error of fcntl on the
/// lock file, within one a message.
bool is_locked(const rocksdb::Status& s) {
  auto text = s.ToString();
  return s.IsIOError() && (text.find("While lock file") != std::string::npos ||
                           text.find("lock hold by current process") != std::string::npos);
}

} // namespace

// RocksDB's messages name files and errno texts; keys are redacted unless `allow_data_in_errors` is set.
store_error to_store_error(std::string_view what, const rocksdb::Status& s) {
  return {kind_of(s), std::string(what) + ": " + s.ToString()};
}

store_error to_open_error(std::string_view directory, const rocksdb::Status& s) {
  auto where = std::string(directory);
  if (is_locked(s))
    return {store_error::kind::locked,
            "data directory " + where +
                " is in use by another process; stop that process or configure another directory (" + s.ToString() +
                ")"};
  bool missing = s.IsPathNotFound() || s.IsNotFound();
  if (s.IsCorruption() || missing)
    return {store_error::kind::corrupt,
            "the store in " + where +
                " is corrupt and was left as it is; restore it from a backup, or move it away to start empty (" +
                s.ToString() + ")"};
  return to_store_error("cannot open the store in " + where, s);
}

} // namespace switchyard::store
