#pragma once

// HTTP client for providers: keep-alive pool per I/O thread, TLS with certificate and host check, time limits,
// cancellation. Beast stays in the sources.

#include "switchyard/actors/provider.hpp"
#include "switchyard/engine/settings.hpp"
#include "switchyard/http/io_threads.hpp"

#include <boost/system/result.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace switchyard::http {

/// What an answer's body says, by the rules of the operation (adapters/openai has the one for OpenAI-compatible
/// providers): fills `failure` and `tokens` of a result that is a whole HTTP answer.
using answer_inspector = std::function<void(const provider_request& request, provider_result& result)>;

/// Makes the reader for a streamed answer to this request; null: it is taken as a whole.
using stream_reader_factory = std::function<std::unique_ptr<stream_reader>(const provider_request& request)>;

/// What a client is told of the operations it carries. All are called on the I/O threads, but `prepare` on whatever
/// thread starts the attempt.
struct client_rules {
  answer_inspector inspect;                         ///< may be empty: status and body are not looked at
  stream_reader_factory read_stream;                ///< may be empty: answers do not flow, and are taken as a whole
  std::function<void(provider_request&)> prepare{}; ///< changes a request before it is sent; may be empty
};

/// Figures of a client's pool.
struct client_figures {
  std::size_t idle = 0;   ///< connections kept for reuse
  std::size_t active = 0; ///< attempts under way
};

class client_provider : public provider {
public:
  virtual client_figures figures() const noexcept = 0;
};

/// A provider over HTTP, on these I/O threads, which must outlive it. Fails with a text when the settings cannot be
/// used: a base URL that is none, a CA file that cannot be loaded.
boost::system::result<std::shared_ptr<client_provider>, std::string>
make_client(io_threads& threads, const provider_settings& settings, client_rules rules);

} // namespace switchyard::http
