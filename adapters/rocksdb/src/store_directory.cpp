#include "store_directory.hpp"

namespace switchyard::store {
namespace fs = std::filesystem;
namespace {

store_error cannot(std::string_view what, const fs::path& where, const std::string& why) {
  return {store_error::kind::io, "cannot " + std::string(what) + " " + where.string() + ": " + why};
}

/// Whether a file is left by a store that was once open. One whose creation was interrupted has only its first
/// manifest, and may be made anew.
bool is_trace_of_a_store(const fs::directory_entry& file) {
  auto name = file.path().filename().string();
  if (name.starts_with("MANIFEST-"))
    return name != "MANIFEST-000001";
  return name.ends_with(".sst") || name.ends_with(".log") || name.starts_with("OPTIONS-");
}

} // namespace

store_result<fs::path> prepare_store_directory(const fs::path& data_dir) {
  auto where = data_dir / "store";
  std::error_code failed;
  for (const auto& p : {data_dir, where})
    if (auto s = fs::status(p, failed); fs::exists(s) && !fs::is_directory(s))
      return cannot("use data directory", p, "it is a file, not a directory");
  fs::create_directories(where, failed);
  if (failed)
    return cannot("create data directory", where, failed.message());

  bool begins = fs::exists(where / "CURRENT", failed);
  bool traces = false;
  fs::directory_iterator it(where, failed), end;
  for (; !failed && it != end; it.increment(failed))
    traces = traces || is_trace_of_a_store(*it);
  if (failed)
    return cannot("read data directory", where, failed.message());
  if (traces && !begins)
    return store_error{store_error::kind::corrupt,
                       "the store in " + where.string() +
                           " is corrupt and was left as it is: its file CURRENT is missing; restore it from a "
                           "backup, or move it away to start empty"};
  return where;
}

} // namespace switchyard::store
