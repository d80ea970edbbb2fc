#include "open_database.hpp"

#include "status.hpp"

#include <algorithm>

namespace switchyard::store {
namespace {

const rocksdb::Slice format_key = "format";
constexpr std::string_view format_value = "1"; ///< of keys and values; rises when old programs could not read new data

} // namespace

store_result<std::unique_ptr<open_database>>
open_database::open(const std::filesystem::path& directory, const options& o, const open_hooks& hooks, creation c) {
  if (c == creation::read_only)
    return open_read_only(directory, o, hooks);
  auto how = database_options(o, hooks);
  how.create_if_missing = how.create_missing_column_families = c == creation::allowed;
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  auto s = rocksdb::DB::Open(how, directory.string(), column_families(o, hooks), &handles, &db);
  if (!s.ok())
    return to_open_error(directory.string(), s);
  std::unique_ptr<open_database> self(new open_database);
  self->db_.reset(db);
  std::ranges::copy(handles, self->handles_.begin());
  if (auto format = self->check_format(); !format)
    return format.error();
  return self;
}

store_result<std::unique_ptr<open_database>> open_database::open_read_only(const std::filesystem::path& directory,
                                                                           const options& o, const open_hooks& hooks) {
  auto how = database_options(o, hooks);
  how.avoid_unnecessary_blocking_io = false; // its purges in the background are not made for this
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  auto s = rocksdb::DB::OpenForReadOnly(how, directory.string(), column_families(o, hooks), &handles, &db);
  if (!s.ok())
    return to_open_error(directory.string(), s);
  std::unique_ptr<open_database> self(new open_database);
  self->db_.reset(db);
  std::ranges::copy(handles, self->handles_.begin());
  if (auto format = self->check_format(); !format)
    return format.error();
  return self;
}

open_database::~open_database() {
  for (auto* handle : handles_)
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  db_->Close().PermitUncheckedError(); // its failure was logged, and nothing is lost that was promised
}

store_result<void> open_database::check_format() {
  std::string found;
  auto s = db_->Get({}, format_key, &found);
  if (s.IsNotFound())
    s = db_->Put({}, format_key, rocksdb::Slice(found = format_value));
  if (!s.ok())
    return to_open_error(db_->GetName(), s);
  if (found != format_value)
    return store_error{store_error::kind::io, "the store in " + db_->GetName() +
                                                  " was written by another version of Switchyard, in format " +
                                                  found.substr(0, 16)};
  return {};
}

} // namespace switchyard::store
