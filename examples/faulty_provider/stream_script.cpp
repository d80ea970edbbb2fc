// The part of a script that is about streams, from JSON and to JSON.

#include "stream_script.hpp"

#include "script_json.hpp"
#include "script_node.hpp"

namespace faulty {
namespace {

namespace json = boost::json;

// A pause: a fixed one as a text, or a distribution.
void read_pause(const node& n, latency_script& out) {
  if (n.is_text())
    n.read(out.mean);
  else
    read_latency(n, out);
}

void read_place(const node& n, stream_place& out) {
  if (n.is_text("head")) {
    out = after_head;
    return;
  }
  std::size_t chunks = 0;
  if (n.whole(chunks, 0, most_chunks, " or \"head\""))
    out = static_cast<stream_place>(chunks);
}

// A fault that is named happens always unless it says how often.
template <class Fault>
void read_rate(const node& n, Fault& out) {
  out.rate = 1;
  n.member("rate", [&](const node& m) { m.rate(out.rate); });
}

template <class Fault>
void read_rate_and_place(const node& n, Fault& out) {
  read_rate(n, out);
  n.member("after", [&](const node& m) { read_place(m, out.after); });
}

void read_cut(const node& n, cut_script& out) {
  if (!n.object({"rate", "after", "by"}))
    return;
  read_rate_and_place(n, out);
  n.member("by", [&](const node& m) { m.one_of(out.by, cut_kind_names); });
}

void read_stall(const node& n, stall_script& out) {
  if (!n.object({"rate", "after", "for"}))
    return;
  read_rate_and_place(n, out);
  n.member("for", into(out.length));
}

void read_drip(const node& n, drip_script& out) {
  if (!n.object({"rate", "bytes", "delay"}))
    return;
  read_rate(n, out);
  n.member("bytes", [&](const node& m) { m.whole(out.bytes, 1, longest_chunk); });
  n.member("delay", into(out.delay));
  if (!n.has("bytes") || !n.has("delay"))
    n.fail("\"bytes\" and \"delay\" are needed");
}

void read_error_event(const node& n, error_event_script& out) {
  if (!n.object({"rate", "after", "code", "message"}))
    return;
  read_rate_and_place(n, out);
  n.member("code", into(out.code));
  n.member("message", into(out.message));
}

void read_malformed_frame(const node& n, malformed_frame_script& out) {
  if (n.object({"rate", "after"}))
    read_rate_and_place(n, out);
}

void read_faults(const node& n, stream_faults& out) {
  if (!n.object({"cut", "stall", "drip", "error_event", "malformed_frame", "missing_done", "missing_finish"}))
    return;
  n.member("cut", [&](const node& m) { read_cut(m, out.cut); });
  n.member("stall", [&](const node& m) { read_stall(m, out.stall); });
  n.member("drip", [&](const node& m) { read_drip(m, out.drip); });
  n.member("error_event", [&](const node& m) { read_error_event(m, out.error_event); });
  n.member("malformed_frame", [&](const node& m) { read_malformed_frame(m, out.malformed_frame); });
  n.member("missing_done", [&](const node& m) { m.rate(out.missing_done); });
  n.member("missing_finish", [&](const node& m) { m.rate(out.missing_finish); });
}

void read_text(const node& n, std::string& out) {
  n.read(out);
  if (out.size() > longest_chunk)
    n.fail("a text of at most " + std::to_string(longest_chunk) + " bytes is expected");
}

json::value to_json(stream_place p) {
  return p == after_head ? json::value("head") : json::value(p);
}

json::object to_json(const stream_faults& f) {
  json::object out;
  if (f.cut.rate > 0)
    out["cut"] = {{"rate", f.cut.rate}, {"after", to_json(f.cut.after)}, {"by", name_of(f.cut.by, cut_kind_names)}};
  if (f.stall.rate > 0) {
    json::object stall{{"rate", f.stall.rate}, {"after", to_json(f.stall.after)}};
    put(stall, "for", f.stall.length);
    out["stall"] = std::move(stall);
  }
  if (f.drip.rate > 0)
    out["drip"] = {{"rate", f.drip.rate}, {"bytes", f.drip.bytes}, {"delay", text(f.drip.delay)}};
  if (const auto& e = f.error_event; e.rate > 0) {
    json::object error{{"rate", e.rate}, {"after", to_json(e.after)}};
    if (!e.code.empty())
      error["code"] = e.code;
    if (!e.message.empty())
      error["message"] = e.message;
    out["error_event"] = std::move(error);
  }
  if (f.malformed_frame.rate > 0)
    out["malformed_frame"] = {{"rate", f.malformed_frame.rate}, {"after", to_json(f.malformed_frame.after)}};
  out["missing_done"] = f.missing_done;
  out["missing_finish"] = f.missing_finish;
  return out;
}

} // namespace

void read_stream(const node& n, stream_script& out) {
  if (!n.object({"chunks", "text", "first", "interval", "usage", "comments", "keep_alive", "faults"}))
    return;
  n.member("chunks", [&](const node& m) { m.whole(out.chunks.emplace(), 0, most_chunks); });
  n.member("text", [&](const node& m) { read_text(m, out.text); });
  n.member("first", [&](const node& m) { read_pause(m, out.first); });
  n.member("interval", [&](const node& m) { read_pause(m, out.interval); });
  n.member("usage", [&](const node& m) { m.one_of(out.usage, usage_policy_names); });
  n.member("comments", into(out.comments));
  n.member("keep_alive", into(out.keep_alive));
  n.member("faults", [&](const node& m) { read_faults(m, out.faults); });
  if (out.keep_alive && *out.keep_alive < shortest_keep_alive)
    n.fail("\"keep_alive\" must be at least 1ms");
  if (out.chunks.value_or(0) * out.text.size() > longest_stream_text)
    n.fail("\"chunks\" times the length of \"text\" must not be more than " + std::to_string(longest_stream_text) +
           " bytes");
}

json::value to_json(const stream_script& s) {
  json::object out;
  if (s.chunks)
    out["chunks"] = *s.chunks;
  if (!s.text.empty())
    out["text"] = s.text;
  out["first"] = to_json(s.first);
  out["interval"] = to_json(s.interval);
  out["usage"] = name_of(s.usage, usage_policy_names);
  out["comments"] = s.comments;
  put(out, "keep_alive", s.keep_alive);
  out["faults"] = to_json(s.faults);
  return out;
}

} // namespace faulty
