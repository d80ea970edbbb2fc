#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace switchyard::store {

/// What the write-ahead logs of a closed store show of lost writes, one line for each loss; empty when nothing is
/// missing. RocksDB itself passes over all of this without a word:
///  - a log that ends within a record, as after a crash: one write, which nobody was told of;
///  - a log that ends in zeros, as after a power failure: writes whose number is not known;
///  - a gap in the numbering of entries: a log, or its end, is missing between others;
///  - no log at all in a store that was open before: all that was not in tables yet.
/// Not seen are a last log that is missing or cut exactly between two records, while an older one is there. Damage
/// within a log is not looked for: RocksDB refuses to open such a store. A log stays until all that it holds is in
/// tables, so a loss may be told at several starts. Reads all logs, at most some 40 MiB. Files that cannot be read are
/// passed over: the opening says what is wrong with them.
std::vector<std::string> find_log_losses(const std::filesystem::path& directory);

} // namespace switchyard::store
