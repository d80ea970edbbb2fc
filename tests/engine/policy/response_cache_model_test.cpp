// The cache against a model that keeps everything in the plainest way, for any sequence of operations.

#include "switchyard/engine/response_cache.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace switchyard;
using kind = response_cache::finding::kind;
using waiters = std::vector<waiter_id>;

namespace {

constexpr duration ttl = 10s;

cache_settings settings_of(std::uint64_t max_bytes, duration stale) {
  cache_settings s;
  s.enabled = true;
  s.ttl = ttl;
  s.stale_if_error = stale;
  s.max_bytes = max_bytes;
  return s;
}

struct cache_model {
  cache_model(std::uint64_t max_bytes, duration stale)
      : max_bytes_(max_bytes), stale_(stale), cache_(settings_of(max_bytes, stale)) {}

  void look_up(const cache_place& place, const cache_directives& wish) {
    const auto waiter = ++last_waiter_;
    const auto found = cache_.look_up(place, wish, waiter, now_);
    const auto stored = forget_unservable(place.key);
    const bool fresh = !wish.read || (wish.max_age && *wish.max_age == 0s);
    const bool wanted = stored && !fresh && (!wish.max_age || now_ - stored->at <= *wish.max_age);
    if (wanted && now_ - stored->at < ttl) {
      RC_ASSERT(found.what == kind::hit);
      RC_ASSERT(found.answer == stored->answer);
      RC_ASSERT(found.age == now_ - stored->at);
      return used(place.key);
    }
    if (auto* running = fresh ? nullptr : joinable(place, wanted, wish.max_age.has_value())) {
      RC_ASSERT(found.what == kind::joined);
      running->waiting.push_back(waiter);
      return;
    }
    RC_ASSERT(found.what == kind::lead);
    RC_ASSERT(tokens_.emplace(found.token, place).second);
    RC_ASSERT(found.answer == (wanted ? stored->answer : nullptr));
    RC_ASSERT(!wanted || found.age == now_ - stored->at);
    calls_.push_back({place, found.token, wanted, !leading(place, wanted), {}});
  }

  void settle(const cache_place& place, owner_token token, std::optional<std::size_t> size) {
    std::shared_ptr<answer_payload> answer;
    if (size) {
      answer = std::make_shared<answer_payload>();
      answer->body.assign(*size, 'x');
    }
    const auto told = cache_.settle(place, token, answer, now_);
    const auto call = of(place, token);
    if (call == calls_.end()) {
      RC_ASSERT(told.empty());
      return;
    }
    RC_ASSERT(told == call->waiting);
    calls_.erase(call);
    if (answer)
      keep(place.key, std::move(answer));
  }

  void lead_lost(const cache_place& place, owner_token token) {
    const auto next = cache_.lead_lost(place, token, now_);
    const auto call = of(place, token);
    if (call == calls_.end() || call->waiting.empty()) {
      RC_ASSERT(!next);
      if (call != calls_.end())
        calls_.erase(call);
      return;
    }
    RC_ASSERT(next.has_value());
    RC_ASSERT(next->heir.waiter == call->waiting.front());
    RC_ASSERT(tokens_.emplace(next->heir.token, place).second);
    call->waiting.erase(call->waiting.begin());
    call->token = next->heir.token;
    const auto stored = call->has_expired ? forget_unservable(place.key) : std::nullopt;
    const bool given = stored && now_ - stored->at >= ttl;
    RC_ASSERT(next->answer == (given ? stored->answer : nullptr));
    RC_ASSERT(!given || next->age == now_ - stored->at);
  }

  void leave(const cache_place& place, waiter_id waiter) {
    cache_.leave(place, waiter);
    for (auto& call : calls_)
      if (same(call.place, place))
        std::erase(call.waiting, waiter);
  }

  void pass(duration d) { now_ += d; }

  void check_size() const {
    RC_ASSERT(cache_.entries() == stored_.size());
    RC_ASSERT(cache_.bytes() == bytes());
    RC_ASSERT(cache_.bytes() <= max_bytes_);
    RC_ASSERT(cache_.in_flight() == calls_.size());
  }

  owner_token last_token() const { return tokens_.empty() ? 0 : tokens_.rbegin()->first; }
  waiter_id last_waiter() const { return last_waiter_; }
  owner_token some_lead(std::uint64_t n) const { return calls_.empty() ? 0 : calls_[n % calls_.size()].token; }
  cache_place place_of(owner_token token, const cache_place& otherwise) const {
    const auto given = tokens_.find(token);
    return given == tokens_.end() ? otherwise : given->second;
  }

private:
  struct stored_answer {
    std::string key;
    std::shared_ptr<const answer_payload> answer;
    time_point at;
  };
  struct running_call {
    cache_place place;
    owner_token token;
    bool has_expired; // its leader was given an expired answer
    bool open;        // others may join it
    waiters waiting;
  };

  static bool same(const cache_place& a, const cache_place& b) { return a.key == b.key && a.fallback == b.fallback; }

  running_call* leading(const cache_place& place, bool has_expired) {
    for (auto& call : calls_)
      if (call.open && call.has_expired == has_expired && same(call.place, place))
        return &call;
    return nullptr;
  }

  running_call* joinable(const cache_place& place, bool has_expired, bool limits_age) {
    if (has_expired)
      return leading(place, true);
    auto* with = limits_age ? nullptr : leading(place, true);
    return with ? with : leading(place, false);
  }

  std::vector<running_call>::iterator of(const cache_place& place, owner_token token) {
    return std::ranges::find_if(calls_, [&](const auto& c) { return c.token == token && same(c.place, place); });
  }

  std::vector<stored_answer>::iterator find(const std::string& key) {
    return std::ranges::find(stored_, key, &stored_answer::key);
  }

  std::optional<stored_answer> forget_unservable(const std::string& key) {
    const auto it = find(key);
    if (it == stored_.end())
      return std::nullopt;
    if (now_ - it->at < ttl + stale_)
      return *it;
    stored_.erase(it);
    return std::nullopt;
  }

  void used(const std::string& key) {
    const auto it = find(key);
    std::rotate(it, it + 1, stored_.end()); // most recently used last
  }

  void keep(const std::string& key, std::shared_ptr<const answer_payload> answer) {
    std::erase_if(stored_, [&](const auto& s) { return s.key == key; });
    stored_.push_back({key, std::move(answer), now_});
    if (cost(stored_.back()) > max_bytes_)
      return stored_.pop_back();
    while (bytes() > max_bytes_)
      stored_.erase(stored_.begin());
  }

  static std::uint64_t cost(const stored_answer& s) {
    return response_cache::entry_overhead + s.key.size() + s.answer->body.size();
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& s : stored_)
      sum += cost(s);
    return sum;
  }

  std::uint64_t max_bytes_;
  duration stale_;
  response_cache cache_;
  time_point now_{1h};
  std::vector<stored_answer> stored_;
  std::vector<running_call> calls_;
  std::map<owner_token, cache_place> tokens_; // all that were given out, and for what
  waiter_id last_waiter_ = 0;
};

// One random operation. Few keys, so that they meet; tokens right, lost and invented.
void random_operation(cache_model& model, std::uint64_t draw) {
  const auto next = [&draw](std::uint64_t n) {
    const auto value = draw % n;
    draw /= n;
    return value;
  };
  const auto what = next(10);
  cache_place place{std::string(1, static_cast<char>('a' + next(3))), next(4) != 0};
  if (what < 5) {
    cache_directives wish;
    wish.read = next(6) != 0;
    if (next(3) == 0)
      wish.max_age = std::chrono::seconds{next(4) * 5};
    return model.look_up(place, wish);
  }
  if (what == 5)
    return model.leave(place, next(model.last_waiter() + 1));
  if (what == 6)
    return model.pass(std::chrono::seconds{next(6)});
  const auto token = next(4) == 0 ? next(model.last_token() + 2) : model.some_lead(next(16));
  place = model.place_of(token, place);
  if (what == 7)
    return model.lead_lost(place, token);
  model.settle(place, token, next(4) == 0 ? std::nullopt : std::optional<std::size_t>{next(1200)});
}

} // namespace

TEST_CASE("whatever is asked, settled, lost and left, the cache is what a plain list would be [U3]") {
  REQUIRE(rc::check("equal to the model", [] {
    // Room for nothing, for one or for all of the keys.
    cache_model model(*rc::gen::element<std::uint64_t>(0, 1000, 2500, 10000), *rc::gen::element<duration>(0s, 15s));
    // Numbers of the whole range also in small cases, and longer sequences than the usual hundred.
    const auto draws = *rc::gen::resize(400, rc::gen::container<std::vector<std::uint64_t>>(rc::gen::resize(
                                                 rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>())));
    for (auto draw : draws) {
      random_operation(model, draw);
      model.check_size();
    }
  }));
}
