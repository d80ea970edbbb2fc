#pragma once

// Reads the values of a script's JSON into fields, and says what is wrong with them.

#include "script.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace faulty {

/// A place in the document: its value, its pointer, and where errors go. Each `read` leaves its field alone when the
/// value is none that is accepted.
class node {
public:
  node(const boost::json::value& value, std::string pointer, script_errors& errors)
      : value_(value), pointer_(std::move(pointer)), errors_(errors) {}

  void fail(std::string_view message) const;

  /// Whether it is an object; each key that is none of these is an error.
  bool object(std::initializer_list<std::string_view> keys) const;
  bool has(std::string_view key) const;

  template <class F>
  void member(std::string_view key, F read_it) const {
    if (const auto* o = value_.if_object())
      if (const auto* v = o->if_contains(boost::json::string_view(key.data(), key.size())))
        read_it(node(*v, pointer_ + "/" + std::string(key), errors_));
  }

  template <class F>
  void elements(F read_it) const {
    const auto* a = value_.if_array();
    if (!a)
      return fail("a list is expected");
    for (std::size_t i = 0; i < a->size(); ++i)
      read_it(node((*a)[i], pointer_ + "/" + std::to_string(i), errors_));
  }

  void read(duration& out) const;
  void read(std::optional<duration>& out) const { read(out.emplace()); }
  void read(std::string& out) const; ///< not empty
  void read(bool& out) const;
  void rate(double& out) const;
  void status(int& out) const;
  void number(double& out, double low, double high, std::string_view accepted) const;
  /// A whole number from `low` to `high`; an error says that `or_else` is accepted, too. Returns whether it was read.
  bool whole(std::size_t& out, std::size_t low, std::size_t high, std::string_view or_else = {}) const;

  template <class Enum, class Names>
  void one_of(Enum& out, const Names& names) const {
    std::string known;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (is_text(names[i])) {
        out = static_cast<Enum>(i);
        return;
      }
      known.append(known.empty() ? "\"" : ", \"").append(names[i]).append("\"");
    }
    fail("one of " + known + " is expected");
  }

  bool is_text() const noexcept { return value_.is_string(); }
  bool is_text(std::string_view text) const noexcept;
  script_errors& errors() const noexcept { return errors_; }

private:
  const boost::json::value& value_;
  std::string pointer_;
  script_errors& errors_;
};

/// Reads a member into a field when it is there.
template <class T>
auto into(T& field) {
  return [&field](const node& n) { n.read(field); };
}

void read_latency(const node& n, latency_script& out);
void read_stream(const node& n, stream_script& out);

} // namespace faulty
