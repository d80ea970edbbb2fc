#pragma once

// Of many who want the same thing at the same time one leads, the rest wait for what it comes to.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace switchyard {

/// Names who holds a lead; a lost lead's token neither stores nor releases.
using owner_token = std::uint64_t;
/// Names one who waits; unique in the process.
using waiter_id = std::uint64_t;

/// Who leads now in place of one that is gone.
struct flight_promotion {
  waiter_id waiter;
  owner_token token;
};

/// The calls under way, by key. `Note` is what the leader leaves for those who come later. Not thread-safe: one owner.
/// Every operation costs O(1), `leave` and `complete` O(those who wait for that call), whatever the number of calls.
template <class Note>
class single_flight {
public:
  struct call {
    Note note;
    owner_token token = 0;
    std::deque<waiter_id> waiters;
  };
  /// `first_token` is the first token given out: the successor of a dead owner starts above all that its predecessor
  /// may have given, so that those have lost their leads.
  explicit single_flight(owner_token first_token = 1) noexcept : next_token_(first_token) {}

  /// The call of a key, or null.
  const call* find(std::string_view key) const {
    const auto found = calls_.find(key);
    return found == calls_.end() ? nullptr : &found->second;
  }

  /// The note of a key that has a call.
  Note& note(std::string_view key) { return calls_.find(key)->second.note; }

  /// Begins a call of a key that has none.
  owner_token lead(std::string_view key, Note note) {
    const auto token = take_token();
    calls_.emplace(key, call{std::move(note), token, {}});
    return token;
  }

  /// A token that belongs to no call here.
  owner_token take_token() noexcept { return next_token_++; }

  /// Waits for the call of a key that has one.
  void join(std::string_view key, waiter_id waiter) { calls_.find(key)->second.waiters.push_back(waiter); }

  bool leads(std::string_view key, owner_token token) const {
    const auto* running = find(key);
    return running && running->token == token;
  }

  /// The leader is done: the call goes; returns who is to be answered, in order of arrival. Nothing when the token has
  /// lost the lead.
  std::optional<std::vector<waiter_id>> complete(std::string_view key, owner_token token) {
    const auto found = calls_.find(key);
    if (found == calls_.end() || found->second.token != token)
      return std::nullopt;
    const auto& waiters = found->second.waiters;
    std::vector<waiter_id> to_answer(waiters.begin(), waiters.end());
    calls_.erase(found);
    return to_answer;
  }

  /// The leader is gone without an end: the first who waits leads, with a new token; nothing when there is none (the
  /// call goes) or the token has lost the lead.
  std::optional<flight_promotion> lead_lost(std::string_view key, owner_token token) {
    const auto found = calls_.find(key);
    if (found == calls_.end() || found->second.token != token)
      return std::nullopt;
    auto& running = found->second;
    if (running.waiters.empty()) {
      calls_.erase(found);
      return std::nullopt;
    }
    const auto heir = running.waiters.front();
    running.waiters.pop_front();
    running.token = take_token();
    return flight_promotion{heir, running.token};
  }

  /// One that waits gives up.
  void leave(std::string_view key, waiter_id waiter) {
    if (const auto found = calls_.find(key); found != calls_.end())
      std::erase(found->second.waiters, waiter);
  }

  std::size_t size() const noexcept { return calls_.size(); }

private:
  /// Lets a map of strings be asked with a view.
  struct key_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept { return std::hash<std::string_view>{}(key); }
  };

  std::unordered_map<std::string, call, key_hash, std::equal_to<>> calls_;
  owner_token next_token_;
};

} // namespace switchyard
