#pragma once

// An incremental parser of text/event-stream, as the HTML standard defines it (section "Server-sent events"), that also
// says which bytes each event is made of, so that events can be passed on as they came.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace switchyard::openai {

/// The lines of a stream up to and including a blank one.
struct sse_block {
  std::string_view raw;  ///< exactly the bytes read, the blank line's end included
  std::string_view name; ///< the last `event` field; empty stands for "message"
  std::string_view data; ///< the `data` fields, joined by LF
  bool event = false;    ///< has a `data` field; without one nothing is dispatched: a comment, or a lone blank line
};

/// Splits a stream into blocks. Bytes are taken as they are: UTF-8 is not checked. Lines end by LF, CR or CRLF. `id`,
/// `retry` and unknown fields are read over: they only concern a client that connects again, or nobody.
///
/// The concatenation of all blocks is the input without its unfinished rest, and where a block ends does not depend on
/// how the bytes were split. A block that ends with CR waits for one more byte, as an LF would belong to it, unless the
/// stream was seen to end its lines by CR alone.
///
/// Costs O(1) a byte, also when fed byte by byte. A block within one piece of input is not copied, unless it has
/// several `data` fields; one in several pieces is gathered. Keeps at most twice `max_block` bytes, and at most 2 KiB
/// between two blocks. Not thread-safe.
class sse_parser {
public:
  static constexpr std::size_t default_max_block = std::size_t{8} << 20;

  /// A block may have up to `max_block` bytes.
  explicit sse_parser(std::size_t max_block = default_max_block) noexcept : max_block_(max_block) {}

  enum class status : std::uint8_t {
    block,    ///< `out` is the next block
    more,     ///< all bytes are taken; the next block needs more
    too_long, ///< a block is over the limit; it stays so
  };

  /// Takes bytes from the front of `bytes` up to the end of the next block. What `out` shows is valid until the next
  /// call, and as long as the memory `bytes` was in.
  status next(std::string_view& bytes, sse_block& out);

  /// The input has ended. Returns true when its last block only waited for a possible LF; any other unfinished block is
  /// void, as the standard says.
  bool finish(sse_block& out);

  /// Whether there is a line that is no part of an event stream: neither comment nor known field, or left unfinished.
  bool foreign() const noexcept { return foreign_ || (!waits_for_lf() && unfinished_size() != 0); }

private:
  // A text within the block.
  struct span {
    std::size_t begin = 0, size = 0;
    std::string_view in(std::string_view block) const noexcept { return block.substr(begin, size); }
  };

  bool waits_for_lf() const noexcept { return blank_ && after_cr_; }
  std::size_t unfinished_size() const noexcept { return reported_ ? 0 : gathered_.size(); }
  bool over_limit(std::size_t more) const noexcept { return more > max_block_ || gathered_.size() > max_block_ - more; }
  void begin_block();
  void take_line(std::string_view block, span line);
  void take_field(std::string_view block, span line, std::size_t colon);
  void add_data(std::string_view block, span value);
  status gather(std::string_view& bytes);
  status report(std::string_view& bytes, std::size_t size, sse_block& out);
  status give_up() noexcept;

  std::size_t max_block_;
  std::string gathered_; // the block's beginning, where it came in an earlier piece
  std::string joined_;   // its data, where there are several fields
  std::size_t line_ = 0; // where its current line begins
  span name_, data_;
  std::uint8_t data_fields_ = 0; // none, one, several
  bool blank_ = false;           // its blank line has come
  bool reported_ = false;        // it is the caller's; the next call begins another
  bool after_cr_ = false;        // the last byte was a CR: an LF belongs to it
  bool lone_cr_ = false;         // the last line but this ended by CR alone
  bool at_start_ = true;         // no line has ended yet: a byte order mark may stand here
  bool foreign_ = false;
  bool too_long_ = false;
};

} // namespace switchyard::openai
