// The part of the request parser that reads chunked bodies (RFC 9112 7.1).

#include "server_request_parser.hpp"

#include <algorithm>
#include <charconv>

namespace switchyard::http {

namespace {

// Of a line with a chunk's size and extensions, or of a trailer. Below what the connection's buffer can grow to.
constexpr std::size_t max_line = 4096;

} // namespace

std::size_t request_parser::feed_chunked(std::string_view input) {
  std::size_t taken = 0;
  while (state_ == state::body) {
    const auto rest = input.substr(taken);
    std::size_t step = 0;
    switch (part_) {
    case chunk_part::size_line:
    case chunk_part::trailer:
      step = feed_chunk_line(rest);
      break;
    case chunk_part::data:
      step = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, rest.size()));
      request_.body.append(rest.substr(0, step));
      remaining_ -= step;
      if (remaining_ == 0)
        part_ = chunk_part::data_end;
      break;
    case chunk_part::data_end:
      step = feed_chunk_data_end(rest);
      break;
    }
    if (step == 0)
      break;
    taken += step;
  }
  return taken;
}

std::size_t request_parser::feed_chunk_line(std::string_view input) {
  const auto end = input.substr(0, max_line).find('\n');
  if (end == std::string_view::npos) {
    if (input.size() >= max_line)
      malformed("a line of the chunked body is too long");
    return 0;
  }
  if (end == 0 || input[end - 1] != '\r') {
    malformed("a line of the chunked body does not end with CRLF");
    return 0;
  }
  const auto line = input.substr(0, end - 1);
  const bool fine = part_ == chunk_part::size_line ? parse_chunk_size(line) : parse_trailer(line);
  return fine ? end + 1 : 0;
}

std::size_t request_parser::feed_chunk_data_end(std::string_view input) {
  constexpr std::string_view line_end = "\r\n";
  if (!line_end.starts_with(input.substr(0, 2))) {
    malformed("a chunk is longer than its size");
    return 0;
  }
  if (input.size() < 2)
    return 0;
  part_ = chunk_part::size_line;
  return 2;
}

bool request_parser::parse_chunk_size(std::string_view line) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
  const auto rest = line.substr(static_cast<std::size_t>(end - line.data()));
  const auto extension = rest.find_first_not_of(" \t");
  const bool framed = rest.empty() || (extension != std::string_view::npos && rest[extension] == ';');
  const bool printable = std::all_of(rest.begin(), rest.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u == '\t' || (u >= 0x20 && u != 0x7f);
  });
  if (error == std::errc::invalid_argument || !framed || !printable)
    return malformed("a chunk's size is malformed");
  if (error == std::errc::result_out_of_range || size > limits_.max_body - request_.body.size())
    return too_large();
  // Tiny chunks with long extensions would be work without a body to count it by.
  chunk_overhead_ += rest.size();
  if (chunk_overhead_ > limits_.max_head)
    return malformed("the chunk extensions are too long");
  remaining_ = size;
  part_ = size == 0 ? chunk_part::trailer : chunk_part::data;
  return true;
}

// Trailers are checked and dropped (RFC 9110 6.5.1).
bool request_parser::parse_trailer(std::string_view line) {
  if (line.empty()) {
    state_ = state::complete;
    return true;
  }
  chunk_overhead_ += line.size();
  if (chunk_overhead_ > limits_.max_head)
    return malformed("the trailers are too long");
  const auto colon = line.find(':');
  const auto value = colon == std::string_view::npos ? colon : line.find_first_not_of(" \t", colon + 1);
  header_list checked;
  if (colon == std::string_view::npos ||
      !checked.add(line.substr(0, colon), value == std::string_view::npos ? std::string_view{} : line.substr(value)))
    return malformed("a trailer is malformed");
  return true;
}

} // namespace switchyard::http
