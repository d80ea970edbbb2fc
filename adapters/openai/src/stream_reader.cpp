#include "chunk_scan.hpp"
#include "top_level.hpp"

#include "switchyard/openai/stream.hpp"

#include <algorithm>

namespace switchyard::openai {
namespace {

using body_kind = answer_facts::body_kind;

// A stream's head was a 200; the table says what its content makes of that.
failure_class class_of(body_kind body, bool error = false) noexcept {
  answer_facts facts;
  facts.status = 200;
  facts.body = body;
  facts.error_object = error;
  return classify(facts).value_or(failure_class::unknown);
}

bool is_done(std::string_view data) noexcept {
  data = data.substr(std::min(data.find_first_not_of(detail::white_space), data.size()));
  return data.substr(0, data.find_last_not_of(detail::white_space) + 1) == "[DONE]";
}

bool has_content(operation op, const detail::chunk_findings& found) noexcept {
  switch (op) {
  case operation::chat_completions:
    return found.choice_content || found.telling_finish;
  case operation::completions:
    return found.choice_text || found.telling_finish;
  case operation::responses:
    return found.response_output;
  case operation::embeddings:
    break;
  }
  return false;
}

class openai_stream_reader final : public stream_reader {
public:
  openai_stream_reader(operation op, std::size_t request_bytes, const stream_reader_options& options) noexcept
      : parser_(options.max_event),
        request_bytes_(request_bytes),
        max_held_(options.max_held),
        operation_(op),
        withhold_usage_(options.withhold_usage) {}

  state feed(std::string_view bytes, std::string& out) override;
  state finish(std::string& out) override;
  bool complete() const noexcept override;
  state where() const noexcept override { return state_; }
  failure_class failure() const noexcept override { return failure_; }
  token_usage tokens() const noexcept override;

private:
  bool running() const noexcept { return state_ == state::holding || state_ == state::flowing; }
  bool is_responses() const noexcept { return operation_ == operation::responses; }
  bool all_finished() const noexcept { return !finished_.empty() && finished_.includes(seen_); }

  void take(const sse_block& block, std::string& out);
  void take_done(const sse_block& block, std::string& out);
  void take_chunk(const sse_block& block, std::string& out);
  void note(const detail::chunk_findings& found) noexcept;
  void pass(const sse_block& block, bool content, std::string& out);
  void end(failure_class without_content) noexcept;
  void fail(failure_class why) noexcept;

  sse_parser parser_;
  std::string held_;
  token_usage told_;              // by the provider
  std::size_t content_bytes_ = 0; // of the deltas so far
  std::size_t request_bytes_;
  std::size_t max_held_;
  detail::choice_set seen_, finished_;
  operation operation_;
  bool withhold_usage_;
  bool any_event_ = false;
  state state_ = state::holding;
  failure_class failure_ = failure_class::unknown;
};

stream_reader::state openai_stream_reader::feed(std::string_view bytes, std::string& out) {
  sse_block block;
  while (running()) {
    switch (parser_.next(bytes, block)) {
    case sse_parser::status::more:
      return state_;
    case sse_parser::status::too_long:
      fail(classify(transport_error::response_too_large));
      break;
    case sse_parser::status::block:
      take(block, out);
      break;
    }
  }
  return state_;
}

bool openai_stream_reader::complete() const noexcept {
  return state_ == state::ended || (state_ == state::flowing && all_finished());
}

stream_reader::state openai_stream_reader::finish(std::string& out) {
  sse_block block;
  if (running() && parser_.finish(block))
    take(block, out);
  if (!running())
    return state_;
  if (state_ == state::flowing && !all_finished())
    fail(classify(transport_error::early_close)); // [S2]
  else
    end(class_of(any_event_ ? body_kind::json : parser_.foreign() ? body_kind::not_json : body_kind::empty));
  return state_;
}

token_usage openai_stream_reader::tokens() const noexcept {
  token_usage t = told_;
  t.estimated = !t.input || !t.output;
  if (!t.input)
    t.input = request_bytes_ / 4;
  if (!t.output)
    t.output = (content_bytes_ + 3) / 4;
  return t;
}

void openai_stream_reader::take(const sse_block& block, std::string& out) {
  any_event_ |= block.event;
  if (is_done(block.data))
    take_done(block, out);
  else if (block.event && (!block.data.empty() || block.name == "error"))
    take_chunk(block, out);
  else
    pass(block, false, out);
}

void openai_stream_reader::take_done(const sse_block& block, std::string& out) {
  if (state_ == state::flowing && is_responses())
    return fail(classify(transport_error::early_close)); // no proper end there, and a client must not take it for one
  if (state_ == state::flowing)
    out.append(block.raw);
  end(class_of(body_kind::json));
}

void openai_stream_reader::take_chunk(const sse_block& block, std::string& out) {
  detail::chunk_findings found;
  if (!detail::scan_chunk(block.data, found))
    return fail(class_of(body_kind::not_json));
  const std::string_view kind = found.type.empty() ? block.name : found.type.view();
  if (found.error || block.name == "error" || (is_responses() && (kind == "error" || kind == "response.failed")))
    return fail(class_of(body_kind::json, true));
  note(found);
  const bool content = has_content(operation_, found);
  if (withhold_usage_ && found.usage && found.no_choices && !content)
    return;
  pass(block, content, out);
  if (running() && is_responses() && (kind == "response.completed" || kind == "response.incomplete"))
    end(class_of(body_kind::json));
}

void openai_stream_reader::note(const detail::chunk_findings& found) noexcept {
  seen_ |= found.seen;
  finished_ |= found.finished;
  content_bytes_ += found.content_bytes;
  if (found.usage)
    told_ = found.tokens;
}

void openai_stream_reader::pass(const sse_block& block, bool content, std::string& out) {
  if (state_ == state::holding && !content) {
    if (block.raw.size() > max_held_ - held_.size())
      return fail(classify(transport_error::response_too_large));
    held_.append(block.raw);
    return;
  }
  if (state_ == state::holding) {
    out.append(held_);
    std::string().swap(held_);
    state_ = state::flowing;
  }
  out.append(block.raw);
}

// The stream's proper end has come.
void openai_stream_reader::end(failure_class without_content) noexcept {
  if (state_ == state::flowing)
    state_ = state::ended;
  else
    fail(without_content);
}

void openai_stream_reader::fail(failure_class why) noexcept {
  state_ = state::failed;
  failure_ = why;
  std::string().swap(held_);
}

} // namespace

std::unique_ptr<stream_reader> make_stream_reader(operation op, std::size_t request_bytes,
                                                  stream_reader_options options) {
  return std::make_unique<openai_stream_reader>(op, request_bytes, options);
}

std::unique_ptr<stream_reader> read_stream_by_path(const provider_request& request) {
  for (const auto op : {operation::chat_completions, operation::completions, operation::responses})
    if (request.path == provider_path(op))
      return make_stream_reader(op, request.body ? request.body->size() : 0,
                                {.withhold_usage = request.usage_injected});
  return nullptr;
}

} // namespace switchyard::openai
