#pragma once

// The cache of answers [U3]. Pure: time is an argument, and whoever asks executes the calls.
//
//   look_up --(fresh)--> hit
//      |-----(miss)----> lead --settle(answer)--> kept, who joined is answered
//      |                   \--- settle(nothing) -> who joined is answered
//      |                   \--- lead lost -------> the first who joined leads
//      \-(miss, running)-> joined
//
// A leader that has an expired answer for the worst case gives it to those who joined it. So calls with and without one
// are apart: nobody is given an older answer than he asked for, nor denied one that he would have taken because the
// leader would not have it.

#include "switchyard/engine/answer_payload.hpp"
#include "switchyard/engine/cache_control.hpp"
#include "switchyard/engine/settings.hpp"
#include "switchyard/engine/single_flight.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace switchyard {

/// What is looked up.
struct cache_place {
  std::string key;      ///< tenant, path and fingerprint of the body
  bool fallback = true; ///< the request may fall over: it shares a call only with its like, but answers with all
};

/// Answers by key, least recently used first out. Not thread-safe: one owner, the cache actor. Every operation costs
/// O(1), `leave` O(those who wait for that call).
///
/// Memory: at most `max_bytes`, an entry counted as its key, header and body bytes and `entry_overhead`; who waits for
/// a call is bounded by the requests under way.
class response_cache {
public:
  /// What an entry costs beside its texts: two map and list nodes, the shared payload and allocator slack.
  static constexpr std::size_t entry_overhead = 384;

  explicit response_cache(const cache_settings& settings, owner_token first_token = 1);

  /// Takes other settings: they hold for what is kept already, too. What no longer fits goes, oldest use first.
  void reconfigure(const cache_settings& settings);

  struct finding {
    enum class kind : std::uint8_t { hit, lead, joined } what = kind::lead;
    owner_token token = 0; ///< of a lead
    /// Of a hit, the answer; of a lead, an expired answer that may be served should every route fail, or null.
    std::shared_ptr<const answer_payload> answer;
    duration age{}; ///< of that answer
  };

  /// Decides about one request. One that wants a fresh answer joins no call that began before it.
  finding look_up(const cache_place& place, const cache_directives& wish, waiter_id waiter, time_point now);

  /// The leader is done; `answer` is kept unless it is null or larger than the whole cache. Returns who joined, in
  /// order of arrival. Nothing is kept and nobody returned when the token has lost the lead.
  std::vector<waiter_id> settle(const cache_place& place, owner_token token,
                                std::shared_ptr<const answer_payload> answer, time_point now);

  /// Who leads in place of one that is gone, and the expired answer for the worst case, or null.
  struct succession {
    flight_promotion heir;
    std::shared_ptr<const answer_payload> answer;
    duration age{}; ///< of that answer; may have passed the heir's `max_age` since it asked
  };
  /// The leader is gone: the first who joined leads, if anybody. Nothing when the token has lost the lead.
  std::optional<succession> lead_lost(const cache_place& place, owner_token token, time_point now);

  /// One that joined gives up.
  void leave(const cache_place& place, waiter_id waiter);

  std::size_t entries() const noexcept { return by_key_.size(); }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::size_t in_flight() const noexcept { return flights_.size() + alone_.size(); }

private:
  struct entry {
    std::string key;
    std::shared_ptr<const answer_payload> answer;
    time_point stored_at{};
    std::uint64_t cost = 0;
  };
  using entry_list = std::list<entry>;

  static std::string flight_key(const cache_place& place, bool has_expired);
  std::optional<std::string> joinable(const cache_place& place, const cache_directives& wish, bool has_expired) const;
  entry_list::iterator find(const std::string& key, time_point now);
  void keep(const std::string& key, std::shared_ptr<const answer_payload> answer, time_point now);
  void erase(entry_list::iterator it);
  void shrink_to(std::uint64_t bytes);

  cache_settings settings_;
  entry_list entries_; ///< most recently used first
  std::unordered_map<std::string_view, entry_list::iterator> by_key_;
  std::uint64_t bytes_ = 0;
  single_flight<std::monostate> flights_;
  std::unordered_set<owner_token> alone_; ///< leads of those who would not join
};

} // namespace switchyard
