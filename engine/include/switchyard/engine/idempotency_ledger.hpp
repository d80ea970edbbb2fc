#pragma once

// Which submit of a key runs, which wait for its answer, which get a stored one [I]. Pure: the caller looks
// up and writes the store, and tells the ledger what it found.
//
//   reserve --(miss)----------------> lead ---- complete(success) --> stored, joiners answered, entry gone
//      |  \--(left over by a crash)--> lead \---- complete(failure) --> joiners get the same error, entry gone [I6]
//      |                 (a rerun)       |  \---- lead lost (died) ---> the first joiner leads, with a new token [I7],
//      or, |                                 |                             where a cut off run must not be made again,
//      all |                                 |                             who joined are refused as interrupted [I10]
//      |                                 +-- further reserves: join (or in_flight), conflict when the payload differs
//      +-- replay, conflict, interrupted

#include "switchyard/engine/settings.hpp"
#include "switchyard/engine/single_flight.hpp"
#include "switchyard/engine/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

/// SHA-256 of path and body [I3]; computed by the caller.
using payload_fingerprint = std::array<std::uint8_t, 32>;

/// Scope of a key [I2]: tenant, operation path, key. None of them holds a zero byte.
struct idempotency_scope {
  std::string tenant, path, key;
  /// One text for maps and stores: the three joined by zero bytes.
  std::string str() const;
};

/// Whether a key may be used: 1-255 characters of 0x21-0x7E [I1].
bool valid_idempotency_key(std::string_view key) noexcept;

/// What is stored of a key: its answer, a success [I5], or that it is reserved.
struct stored_answer {
  payload_fingerprint fingerprint{};
  /// No answer yet: the key is in flight or, where nobody leads it, was when its owner crashed [I10].
  bool reserved = false;
  bool outcome_unknown = false; ///< of an answer: an earlier run was interrupted, and may have been charged [I10]
  int status = 200;
  std::string content_type;
  std::string body;
  wall_time stored_at{};
  duration ttl{};
  /// Whether it still counts. A clock set back lengthens its life by no more than its TTL [C18]: an answer from the
  /// future counts as expired once it is further ahead than that. One that is a little ahead must count, or a clock
  /// that is corrected would have its key run twice.
  bool alive(wall_time now) const noexcept;
};

struct reserve_request {
  std::string scope; ///< idempotency_scope::str()
  payload_fingerprint fingerprint{};
  waiter_id waiter = 0; ///< unique among submits
  bool stream = false;  ///< a stream reserves and is never joined [I9]
  idempotency_settings::concurrent_mode concurrent = idempotency_settings::concurrent_mode::join;
  idempotency_settings::interrupted_mode on_interrupted = idempotency_settings::interrupted_mode::rerun;
  duration ttl{}; ///< of what is stored of the key
};

struct reserve_result {
  enum class kind : std::uint8_t { lead, joined, replay, conflict, in_flight, interrupted } what = kind::lead;
  owner_token token = 0;                       ///< of a lead
  bool rerun = false;                          ///< of a lead: an earlier run was interrupted [I10]
  std::shared_ptr<const stored_answer> answer; ///< of a replay
};

/// The keys that are in flight. Not thread-safe: one owner, an idempotency actor. Every operation costs O(1), or, where
/// joiners leave or are answered, O(joiners of that key), whatever the number of keys.
class idempotency_ledger {
public:
  /// `first_token` is the first token given out: the successor of a dead owner starts above all that its predecessor
  /// may have given, so that those have lost their leads [I7].
  explicit idempotency_ledger(owner_token first_token = 1) noexcept : flights_(first_token) {}

  /// Whether the key is in flight here; if not, the caller looks it up in the store before `reserve`.
  bool in_flight(std::string_view scope) const;

  /// Decides about one submit [I3, I4]. `stored` is what the store has of the key (expired ones count as nothing);
  /// ignored while the key is in flight.
  reserve_result reserve(const reserve_request& r, std::shared_ptr<const stored_answer> stored, wall_time now);

  /// Whether this token still leads: only then may its answer be stored.
  bool leads(std::string_view scope, owner_token token) const { return flights_.leads(scope, token); }

  /// Whether the key in flight runs again after an interruption.
  bool is_rerun(std::string_view scope) const;

  /// What the store is to have of a key in flight when its run comes to nothing: null means nothing [I6]. A rerun's
  /// failure says nothing of the interrupted run: what was found of that is put back, with its own age, or, when it was
  /// never replaced (no value), stays [I10].
  std::optional<std::shared_ptr<const stored_answer>> record_after_failure(std::string_view scope) const;

  /// The leader is done (success or failure): the entry goes; returns the waiters to answer, in order of
  /// arrival. Nothing when the token has lost the lead.
  std::optional<std::vector<waiter_id>> complete(std::string_view scope, owner_token token) {
    return flights_.complete(scope, token);
  }

  /// The leader was cut off, and may have been charged. Where such a run must not be made again the entry goes; returns
  /// the waiters to refuse, in order of arrival [I10]. Nothing where it may (see `lead_lost`), or when the token has
  /// lost the lead.
  std::optional<std::vector<waiter_id>> interrupt(std::string_view scope, owner_token token);

  /// The leader is gone without completing: the first joiner leads, with a new token; nothing when there is none (the
  /// entry goes) or the token has lost the lead. `interrupted`: it may have been charged, so the next run is a rerun.
  std::optional<flight_promotion> lead_lost(std::string_view scope, owner_token token, bool interrupted = true);

  /// A joiner gives up [I7].
  void leave(std::string_view scope, waiter_id waiter) { flights_.leave(scope, waiter); }

  std::size_t size() const noexcept { return flights_.size(); }

private:
  struct leader {
    payload_fingerprint fingerprint{};
    bool stream = false;
    idempotency_settings::interrupted_mode on_interrupted = idempotency_settings::interrupted_mode::rerun;
    bool rerun = false;
    std::shared_ptr<const stored_answer> left; ///< by a crash, which the reservation of this run replaces
  };
  single_flight<leader> flights_;
};

} // namespace switchyard
