//! What a shard's thread takes of the machine.

/// CPU time and waiting time of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time, nanoseconds.
    pub cpu_nanos: u64,
    /// Time in which it could have run and had no core, nanoseconds; 0 where the system does not tell.
    pub waited_nanos: u64,
}

/// Time in which the calling thread could have run and had no core, since it started, nanoseconds. The system tells it in a
/// file, and the load engine opens none, so whoever starts the engine hands this in.
pub type WaitedNanos = fn() -> u64;

impl Usage {
    /// Of the calling thread so far.
    pub fn of_this_thread(waited: WaitedNanos) -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Self { cpu_nanos: time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64, waited_nanos: waited() }
    }

    /// What came on top of an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu_nanos: self.cpu_nanos.saturating_sub(earlier.cpu_nanos),
            waited_nanos: self.waited_nanos.saturating_sub(earlier.waited_nanos),
        }
    }
}
