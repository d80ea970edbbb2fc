#include "client_attempt.hpp"

#include "client_connection.hpp"
#include "client_core.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/string.hpp>

#include <utility>

namespace switchyard::http {

namespace {

/// The longest single wait of a timer: limits may be far beyond what the clock's arithmetic bears.
constexpr duration longest_wait = std::chrono::hours{1};

} // namespace

client_attempt::client_attempt(std::shared_ptr<client_core> core, std::size_t thread, time_point now,
                               provider_request request, std::shared_ptr<attempt_listener> listener)
    : core_(std::move(core)),
      context_(core_->pools[thread].context()),
      thread_(thread),
      began_(now),
      limit_(plus(now, core_->timeouts.attempt)),
      request_(std::move(request)),
      listener_(std::move(listener)) {
  core_->pools[thread_].attempt_began();
}

client_attempt::~client_attempt() {
  abandon(); // a stream whose sink never took its last piece
}

// ---- time limits ---------------------------------------------------------------------------------------------------

void client_attempt::awaits_answer(time_point now) noexcept {
  const bool awaited = head_seen_ ? stream_ && !stream_->content() : request_.stream;
  if (awaited)
    content_limit_ = plus(now, core_->timeouts.first_content);
}

std::pair<transport_error, std::string> client_attempt::limit_passed() const {
  const auto ms = [](duration d) { return std::to_string(ceil_ms(d)) + " ms"; };
  const auto& limits = core_->timeouts;
  if (content_limit_ < limit_)
    return {transport_error::first_content_timeout, "no content within " + ms(limits.first_content)};
  if (stream_ && stream_->content())
    return {transport_error::stream_timeout, "no end of the stream within " + ms(limits.stream.value_or(duration{}))};
  return {transport_error::attempt_timeout, "no whole answer within " + ms(limits.attempt)};
}

// ---- what comes ----------------------------------------------------------------------------------------------------

void client_attempt::bytes_came() noexcept {
  if (!result_.responded) {
    result_.responded = true;
    responded_.store(true, std::memory_order_relaxed);
  }
}

bool client_attempt::flows() {
  if (std::exchange(head_seen_, true))
    return stream_ != nullptr;
  const auto type = result_.headers.find("Content-Type").value_or("");
  const bool events = boost::beast::iequals(type.substr(0, type.find_first_of("; \t")), "text/event-stream");
  if (request_.stream && events && result_.status / 100 == 2 && core_->rules.read_stream)
    if (auto reader = core_->rules.read_stream(request_))
      stream_ = std::make_unique<client_stream>(std::move(reader));
  if (!stream_)
    content_limit_ = time_point::max(); // a whole answer
  return stream_ != nullptr;
}

void client_attempt::on_body(bool last) {
  const auto self = shared_from_this(); // whoever is called may let go of it
  stream_->feed(result_.body);
  result_.body.clear();
  if (last)
    stream_->finish();
  {
    std::lock_guard lock(mutex_);
    progress_.tokens = stream_->reader().tokens();
  }
  if (!stream_->content() && stream_->waits())
    begin_content();
  pump();
}

// From here on the deadline of an attempt holds no more, that of a stream does [B8].
void client_attempt::begin_content() {
  stream_->set_content();
  content_limit_ = time_point::max();
  limit_ = core_->timeouts.stream ? plus(began_, *core_->timeouts.stream) : time_point::max();
  provider_result head;
  head.status = result_.status;
  head.headers = result_.headers;
  head.sent = head.responded = true;
  if (const auto listener = listener_)
    listener->on_content(std::move(head));
}

bool client_attempt::stream_failed() const noexcept {
  return stream_->reader().where() == stream_reader::state::failed;
}

// ---- what goes on --------------------------------------------------------------------------------------------------

// Does work on the I/O thread: at once if this is it. Under the mutex the attempt cannot end, so its context is there.
template <class F>
void client_attempt::on_its_thread(F work) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (!under_way_)
      return;
    if (!context_.get_executor().running_in_this_thread()) {
      boost::asio::post(context_, [self = shared_from_this(), work = std::move(work)] { work(*self); });
      return;
    }
  }
  work(*this);
}

void client_attempt::stream_to(std::shared_ptr<stream_sink> sink) noexcept {
  on_its_thread([sink = std::move(sink)](client_attempt& me) {
    if (!me.under_way_ || !me.stream_)
      return;
    const auto self = me.shared_from_this();
    me.stream_->set_sink(sink);
    me.pump();
  });
}

void client_attempt::piece_taken(std::uint32_t piece, bool more) noexcept {
  on_its_thread([piece, more](client_attempt& me) {
    if (!me.under_way_ || piece != me.piece_)
      return; // said twice
    ++me.piece_;
    const auto self = me.shared_from_this();
    if (!more)
      return me.sink_failed();
    me.stream_->piece_taken();
    me.pump();
  });
}

// Hands on what waits, as long as the sink takes it at once.
void client_attempt::pump() noexcept {
  if (std::exchange(pumping_, true))
    return; // the sink took a piece within on_bytes: the loop below goes on
  while (under_way_) {
    const auto piece = stream_->take_piece();
    if (piece.empty())
      break;
    const auto sink = stream_->sink();
    try {
      sink->on_bytes(piece,
                     [self = shared_from_this(), number = piece_](bool more) { self->piece_taken(number, more); });
    } catch (...) { // a program's own sink
      pumping_ = false;
      return sink_failed();
    }
  }
  pumping_ = false;
  if (!under_way_)
    return;
  if (finished_ && stream_->drained())
    conclude();
  else if (connection_ && !stream_->full())
    connection_->resume();
}

void client_attempt::sink_failed() noexcept {
  stream_->discard();
  if (auto* c = connection_)
    return c->fail_attempt(transport_error::cancelled, "the stream's sink takes no more");
  if (!result_.error && !result_.failure) // else the provider has failed already, and that counts
    result_.error = transport_error::cancelled;
  conclude();
}

attempt_handle::stream_progress client_attempt::progress() const noexcept {
  std::lock_guard lock(mutex_);
  return progress_;
}

// ---- the end -------------------------------------------------------------------------------------------------------

bool client_attempt::end() noexcept {
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(under_way_, false))
      return false;
  }
  if (stream_)
    stream_->close();
  if (const auto timer = drain_timer_.lock())
    timer->cancel();
  core_->pools[thread_].attempt_ended();
  return true;
}

void client_attempt::finish() noexcept {
  if (!under_way_ || std::exchange(finished_, true))
    return;
  if (result_.status >= 400)
    core_->target.redact(result_.body);
  if (stream_) {
    if (stream_failed())
      result_.failure = stream_->reader().failure();
    result_.tokens = stream_->reader().tokens();
  } else if (core_->rules.inspect) {
    try {
      core_->rules.inspect(request_, result_);
    } catch (...) { // a program's own function: its failure is this attempt's
      result_.error = transport_error::other;
      result_.error_detail = "the answer could not be inspected";
    }
  }
  conclude_when_drained();
}

void client_attempt::finish(transport_error error, std::string detail) noexcept {
  // A stream whose own end has come is whole, whatever becomes of its connection; one that has failed, has. What a
  // clean end of the body would have made an end is one here, too: nothing that matters was lost [S2].
  if (stream_ && error != transport_error::cancelled && (stream_failed() || stream_->reader().complete())) {
    stream_->finish();
    return finish();
  }
  if (!under_way_ || std::exchange(finished_, true))
    return;
  result_.error = error;
  result_.error_detail = std::move(detail);
  if (stream_)
    result_.tokens = stream_->reader().tokens();
  // Half an answer is none.
  result_.status = 0;
  result_.headers.clear();
  result_.body = {};
  if (stream_ && error == transport_error::stream_timeout)
    stream_->discard(); // the time is over for those who have not taken everything, too
  conclude_when_drained();
}

// The provider's part is over. What the sink has not taken yet waits for it, at most as long as the stream may last.
// The timer's handler owns the attempt, as a connection did before: it is abandoned when the I/O threads go.
void client_attempt::conclude_when_drained() noexcept {
  if (!stream_ || !stream_->content() || stream_->drained())
    return conclude();
  {
    std::lock_guard lock(mutex_);
    progress_.ended = true;
    progress_.failure = result_.error ? std::optional{classify(*result_.error)} : result_.failure;
  }
  const auto timer = std::make_shared<boost::asio::steady_timer>(context_);
  drain_timer_ = timer;
  timer->expires_at(std::min(limit_, clock_now() + longest_wait));
  timer->async_wait([timer, self = attempt_ref{shared_from_this()}](const boost::system::error_code& stopped) mutable {
    const auto attempt = self.release();
    if (!stopped && attempt->under_way_)
      attempt->drain_timed_out();
  });
}

void client_attempt::drain_timed_out() noexcept {
  if (clock_now() < limit_)
    return conclude_when_drained(); // a wait that was cut short: limits may be far away
  stream_->discard();
  if (!result_.error && !result_.failure) {
    result_.error = transport_error::stream_timeout;
    result_.error_detail = limit_passed().second;
  }
  conclude();
}

void client_attempt::conclude() noexcept {
  if (!end())
    return;
  if (const auto listener = std::move(listener_))
    listener->on_attempt_done(std::move(result_));
}

void client_attempt::abandon() noexcept {
  if (end())
    listener_.reset();
}

void client_attempt::cancel() noexcept {
  {
    std::lock_guard lock(mutex_);
    if (!under_way_)
      return;
    if (!context_.get_executor().running_in_this_thread()) {
      // Under the mutex the attempt cannot end, and so its context is there.
      if (!std::exchange(cancelled_, true))
        boost::asio::post(context_, [self = shared_from_this()] { self->cancel_here(); });
      return;
    }
  }
  cancel_here();
}

void client_attempt::cancel_here() noexcept {
  const auto self = shared_from_this(); // the connection and the listener may hold the last references
  if (auto* c = std::exchange(connection_, nullptr))
    c->abort();
  abandon();
}

} // namespace switchyard::http
