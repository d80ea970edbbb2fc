#include "retention.hpp"

#include "codec.hpp"
#include "keys.hpp"

namespace switchyard::store {
namespace {

std::string_view view(const rocksdb::Slice& s) {
  return {s.data(), s.size()};
}

class retention_filter final : public rocksdb::CompactionFilter {
public:
  retention_filter(contents what, duration retention, wall_time now)
      : what_(what), now_(now), oldest_kept_(before(now, retention)) {}

  const char* Name() const override { return "switchyard.retention"; }

  bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string*, bool*) const override {
    switch (what_) {
    case contents::telemetry:
      return too_old(view(key));
    case contents::telemetry_index:
      return too_old(telemetry_key_of_index(view(key)));
    case contents::usage: {
      const auto usage = parse_usage_key(view(key));
      return usage && after(usage->hour, std::chrono::hours(1)) < oldest_kept_;
    }
    case contents::answers:
      break;
    }
    auto age = decode_answer_age(view(value));
    // Only past its end: an answer from the future of a clock that was set back is refused at read [C18], but its
    // clock may be set right again.
    return age && after(age->stored_at, std::max(age->ttl, duration::zero())) <= now_;
  }

  // What is added to usage is filtered before it is added up.
  bool FilterMergeOperand(int level, const rocksdb::Slice& key, const rocksdb::Slice& operand) const override {
    return Filter(level, key, operand, nullptr, nullptr);
  }

private:
  bool too_old(std::string_view key) const {
    auto time = time_of_telemetry_key(key);
    return time && *time < oldest_kept_;
  }

  contents what_;
  wall_time now_, oldest_kept_;
};

class retention_filter_factory final : public rocksdb::CompactionFilterFactory {
public:
  retention_filter_factory(contents what, duration retention, std::function<wall_time()> clock)
      : what_(what), retention_(retention), clock_(std::move(clock)) {}

  const char* Name() const override { return "switchyard.retention"; }

  std::unique_ptr<rocksdb::CompactionFilter>
  CreateCompactionFilter(const rocksdb::CompactionFilter::Context&) override {
    return std::make_unique<retention_filter>(what_, retention_, clock_());
  }

private:
  contents what_;
  duration retention_;
  std::function<wall_time()> clock_;
};

} // namespace

std::shared_ptr<rocksdb::CompactionFilterFactory> make_retention_filter(contents what, duration retention,
                                                                        std::function<wall_time()> clock) {
  return std::make_shared<retention_filter_factory>(what, retention, std::move(clock));
}

} // namespace switchyard::store
