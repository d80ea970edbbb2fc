#pragma once

// The events of a stream, made one at a time: the texts of a long stream are never there all at once.

#include "answers.hpp"
#include "stream_script.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace faulty {

/// Makes the events of one call's stream. Each function appends whole events (WHATWG server-sent events) to `out`;
/// those of a response are numbered in the order of the calls.
///
///   chat         role chunk | content chunks   | finish chunk, usage chunk | [DONE]
///   completions             | text chunks      | finish chunk, usage chunk | [DONE]
///   responses    created, in_progress, output_item.added, content_part.added | output_text.delta ...
///                | output_text.done, content_part.done, output_item.done | completed
///
/// Without content a response has no item either.
class stream_events {
public:
  stream_events(const call& c, const stream_script& s, bool no_content);

  /// How many chunks have content.
  std::size_t chunks() const noexcept { return chunks_; }

  void opening(std::string& out);
  /// The chunk number `i`, from 0.
  void chunk(std::string& out, std::size_t i);
  /// What tells that the content is whole: the finish reason, for a response the `done` events of its parts.
  void finish(std::string& out);
  void usage(std::string& out);
  /// `[DONE]`, or the completed response.
  void done(std::string& out);
  void error(std::string& out, std::string_view message, std::string_view code);

  /// Half of the event that comes next, which still comes: the chunk number `i`, or the finish after the last one.
  std::string half(std::size_t i);

private:
  bool of_response() const noexcept { return call_.what == operation::responses; }
  void choice(std::string& out, std::string_view content, std::string_view finish_reason) const;
  void response_event(std::string& out, std::string_view type, std::string_view members);
  std::string_view text(std::size_t i) const noexcept { return pieces_[i % pieces_.size()]; }
  call whole_call() const;

  call call_;
  std::vector<std::string> pieces_; ///< said in turn; not empty
  std::size_t chunks_;
  std::string frame_; ///< what the data of each chunk begins with, for a response each delta's members
  std::string null_usage_;
  bool tells_usage_;
  std::uint64_t sequence_ = 0;
};

} // namespace faulty
