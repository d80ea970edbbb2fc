#pragma once

// Streams run through without a clock, and read as a client would.

#include "stream.hpp"

#include "support/catch.hpp"

#include <boost/json.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace faulty::test {

/// One event of a stream: its name, if any, and its data; a comment has neither.
struct event {
  std::string name, data, comment;
};

/// The events of a body. Each must end with an empty line.
inline std::vector<event> events_of(std::string_view body) {
  std::vector<event> out;
  while (!body.empty()) {
    const auto end = body.find("\n\n");
    REQUIRE(end != std::string_view::npos);
    event e;
    std::string_view lines = body.substr(0, end);
    while (!lines.empty()) {
      const auto line = lines.substr(0, lines.find('\n'));
      lines.remove_prefix(std::min(line.size() + 1, lines.size()));
      if (line.starts_with("event: "))
        e.name = line.substr(7);
      else if (line.starts_with("data: "))
        e.data += line.substr(6);
      else if (line.starts_with(":"))
        e.comment = line;
      else
        FAIL("no line of an event: " << line);
    }
    out.push_back(std::move(e));
    body.remove_prefix(end + 2);
  }
  return out;
}

inline boost::json::value data_of(const event& e) {
  return boost::json::parse(e.data);
}

/// What became of a stream.
struct course {
  std::string body;
  std::vector<std::size_t> pieces; ///< sizes of the writes
  std::vector<duration> waits;
  stream::action end{};
  bool for_ever = false; ///< it waits without end
};

/// Takes all steps of a stream, or `most_waits` waits.
inline course run_through(stream& s, std::size_t most_waits = 10'000) {
  course c;
  for (;;) {
    const auto step = s.next();
    if (step.what == stream::action::write) {
      c.body += step.bytes;
      c.pieces.push_back(step.bytes.size());
    } else if (step.what == stream::action::wait) {
      c.waits.push_back(step.length);
      c.for_ever = step.length == switchyard::longest_duration;
      if (c.for_ever || c.waits.size() >= most_waits)
        return c;
    } else {
      c.end = step.what;
      return c;
    }
  }
}

inline call some_call(operation what) {
  return {.what = what,
          .number = 1,
          .model = "m",
          .stream = true,
          .include_usage = false,
          .text = "one two three",
          .inputs = 1,
          .input_tokens = 9};
}

inline course run_through(const call& c, const stream_script& s, behaviour b = behaviour::answer,
                          std::uint64_t seed = 1) {
  stream flow(c, b, std::make_shared<const stream_script>(s), seed);
  return run_through(flow);
}

inline course run_through(const stream_script& s, operation what = operation::chat_completions) {
  return run_through(some_call(what), s);
}

/// The content of a chunk, of whichever operation.
inline std::string content_of(const boost::json::value& data) {
  const auto& o = data.as_object();
  if (o.contains("delta"))
    return std::string(o.at("delta").as_string());
  if (!o.contains("choices") || o.at("choices").as_array().empty())
    return {};
  const auto& choice = o.at("choices").at(0).as_object();
  if (const auto* text = choice.if_contains("text"))
    return std::string(text->as_string());
  const auto* content = choice.at("delta").as_object().if_contains("content");
  return content ? std::string(content->as_string()) : "";
}

/// All content of a body and how many chunks have any. Frames that are no JSON are passed over.
struct said {
  std::string text;
  std::size_t chunks = 0;
};
inline said content_in(std::string_view body) {
  said out;
  for (const auto& e : events_of(body)) {
    boost::json::error_code ec;
    const auto data = boost::json::parse(e.data, ec);
    const auto content = ec ? std::string() : content_of(data);
    out.text += content;
    out.chunks += !content.empty();
  }
  return out;
}

} // namespace faulty::test
