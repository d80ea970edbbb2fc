#pragma once

#include "codec.hpp"

#include <rocksdb/merge_operator.h>

namespace switchyard::store {

/// Adds up usage where RocksDB meets it, so that counting a request needs no reading.
class usage_merge final : public rocksdb::AssociativeMergeOperator {
public:
  const char* Name() const override { return "switchyard.usage"; }

  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing, const rocksdb::Slice& added, std::string* result,
             rocksdb::Logger*) const override {
    // What cannot be read is no reason to stop: a merge that fails would make the database read-only.
    usage_totals sum;
    for (const auto* part : {existing, &added})
      if (part)
        if (const auto totals = decode_usage(part->ToStringView()))
          sum += *totals;
    *result = encode(sum);
    return true;
  }
};

} // namespace switchyard::store
