#pragma once

namespace switchyard::detail {

/// The core whose observer, log or actors the calling thread serves; null on any other thread. The end of a core waits
/// for these threads, so it must not be waited for on one of them. I/O threads are known to `http::io_threads`.
inline thread_local const void* thread_owner = nullptr;

} // namespace switchyard::detail
