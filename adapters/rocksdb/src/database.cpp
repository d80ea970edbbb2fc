#include "switchyard/rocksdb/database.hpp"

#include "answer_store.hpp"
#include "budget_store.hpp"
#include "core.hpp"
#include "open_hooks.hpp"
#include "store_directory.hpp"
#include "telemetry_store.hpp"

#include <chrono>

namespace switchyard::store {
namespace {

class rocksdb_database final : public database {
public:
  explicit rocksdb_database(std::shared_ptr<core> c)
      : core_(std::move(c)),
        telemetry_(make_telemetry_store(core_)),
        answers_(make_answer_store(core_)),
        budgets_(make_budget_store(core_)) {}

  std::shared_ptr<telemetry_log> telemetry() override { return telemetry_; }
  std::shared_ptr<answer_store> answers() override { return answers_; }
  std::shared_ptr<budget_store> budgets() override { return budgets_; }
  std::uint64_t unreadable_entries() const noexcept override { return core_->unreadable(); }
  store_result<void> compact() override { return core_->compact(); }

private:
  std::shared_ptr<core> core_;
  std::shared_ptr<telemetry_log> telemetry_;
  std::shared_ptr<answer_store> answers_;
  std::shared_ptr<budget_store> budgets_;
};

} // namespace

store_result<std::shared_ptr<database>> open_with(const std::filesystem::path& data_dir, options o,
                                                  const open_hooks& hooks) {
  if (!o.clock)
    o.clock = [] { return wall_time(std::chrono::system_clock::now().time_since_epoch()); };
  auto directory = prepare_store_directory(data_dir);
  if (!directory)
    return directory.error();
  auto opened = core::open(*directory, o, hooks);
  if (!opened)
    return opened.error();
  return std::make_shared<rocksdb_database>(std::move(*opened));
}

store_result<std::shared_ptr<database>> database::open(const std::filesystem::path& data_dir, const options& o) {
  return open_with(data_dir, o, {});
}

} // namespace switchyard::store
