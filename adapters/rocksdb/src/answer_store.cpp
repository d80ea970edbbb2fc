#include "answer_store.hpp"

#include "codec.hpp"
#include "status.hpp"

namespace switchyard::store {
namespace {

class rocksdb_answer_store final : public answer_store {
public:
  explicit rocksdb_answer_store(std::shared_ptr<core> c) : core_(std::move(c)) {}

  store_result<std::shared_ptr<const stored_answer>> find(const std::string& scope) override {
    auto database = core_->use();
    if (!database)
      return database.error();
    rocksdb::PinnableSlice value; // an answer may be large: it is copied once, out of the cache
    auto s = (*database)->db().Get({}, (*database)->handle(family_answers), scope, &value);
    if (s.IsNotFound())
      return std::shared_ptr<const stored_answer>();
    if (!s.ok())
      return to_store_error("cannot read a stored answer", s);
    auto answer = decode_answer({value.data(), value.size()});
    if (!answer)
      return store_error{store_error::kind::corrupt,
                         "cannot read a stored answer: it is damaged or of a newer version"};
    return std::make_shared<const stored_answer>(std::move(*answer));
  }

  store_result<void> write(std::span<const key_change> changes) override {
    const bool sync = core_->settings().durability == idempotency_settings::durability_mode::power;
    return core_->write(
        [&](rocksdb::WriteBatch& batch, const open_database& database) {
          auto* family = database.handle(family_answers);
          // Neither can fail on a batch in memory: it has no size limit and no timestamps.
          for (const auto& change : changes)
            if (change.record)
              batch.Put(family, change.scope, encode(*change.record)).PermitUncheckedError();
            else
              batch.Delete(family, change.scope).PermitUncheckedError();
        },
        sync);
  }

private:
  std::shared_ptr<core> core_;
};

} // namespace

std::shared_ptr<answer_store> make_answer_store(std::shared_ptr<core> c) {
  return std::make_shared<rocksdb_answer_store>(std::move(c));
}

} // namespace switchyard::store
