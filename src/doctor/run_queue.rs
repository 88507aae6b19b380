//! How long a thread has waited for a core, as Linux tells it.

use std::fs;

/// Time in which the calling thread could have run and had no core, since it started, nanoseconds: the second number of
/// `/proc/thread-self/schedstat`. 0 where there is no such file.
pub fn waited_nanos() -> u64 {
    let said = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    said.split_ascii_whitespace().nth(1).and_then(|nanos| nanos.parse().ok()).unwrap_or_default()
}
