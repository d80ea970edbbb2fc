#include "budget_store.hpp"

#include "codec.hpp"
#include "keys.hpp"
#include "status.hpp"

namespace switchyard::store {
namespace {

class rocksdb_budget_store final : public budget_store {
public:
  explicit rocksdb_budget_store(std::shared_ptr<core> c) : core_(std::move(c)) {}

  store_result<std::vector<stored_budget>> load() override;

  store_result<void> write(std::span<const stored_budget> ledgers) override {
    return core_->write(
        [&](rocksdb::WriteBatch& batch, const open_database& database) {
          // Putting into a batch in memory cannot fail: it has no size limit and no timestamps.
          for (const auto& l : ledgers)
            batch.Put(database.handle(family_budgets), l.ledger, encode(l)).PermitUncheckedError();
        },
        false);
  }

private:
  std::shared_ptr<core> core_;
};

// There are as many as budgets times tenants; those whose window has long ended are dropped on the way.
store_result<std::vector<stored_budget>> rocksdb_budget_store::load() {
  std::vector<stored_budget> all;
  std::vector<std::string> ended;
  {
    auto database = core_->use();
    if (!database)
      return database.error();
    const auto now = core_->now();
    std::unique_ptr<rocksdb::Iterator> it((*database)->db().NewIterator({}, (*database)->handle(family_budgets)));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const auto name = it->key().ToString();
      auto ledger = decode_budget(it->value().ToStringView());
      if (!ledger) {
        core_->count_unreadable();
        continue;
      }
      ledger->ledger = name;
      if (after(after(ledger->written_at, ledger->window), ledger->window) <= now)
        ended.push_back(name);
      else
        all.push_back(std::move(*ledger));
    }
    if (!it->status().ok())
      return to_store_error("cannot read budgets", it->status());
  }
  if (!ended.empty())
    // Should it fail they are dropped at the next start.
    static_cast<void>(core_->write(
        [&](rocksdb::WriteBatch& batch, const open_database& database) {
          for (const auto& name : ended)
            batch.Delete(database.handle(family_budgets), name).PermitUncheckedError();
        },
        false));
  return all;
}

} // namespace

std::shared_ptr<budget_store> make_budget_store(std::shared_ptr<core> c) {
  return std::make_shared<rocksdb_budget_store>(std::move(c));
}

} // namespace switchyard::store
