#pragma once

#include "switchyard/engine/events.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace switchyard::detail {

/// A copy of an event that owns what an event only shows: its texts and rows.
class kept_event {
public:
  explicit kept_event(const event& e);
  kept_event(const kept_event&) = delete; // the view points into this object
  kept_event& operator=(const kept_event&) = delete;

  /// Valid while this object lives.
  const event& view() const noexcept { return view_; }

private:
  template <class E>
  E with_texts(E e, std::initializer_list<std::string_view E::*> members);
  template <class E>
  event keep(const E& e);

  std::string texts_; ///< reserved once, so that views into it hold
  std::optional<attempt_row> attempt_;
  std::optional<telemetry_record> request_;
  event view_; ///< after what it points into
};

} // namespace switchyard::detail
