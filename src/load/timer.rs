//! What wakes a shard's loop when nothing else does: to a few microseconds where the system has a timer for that, else to the
//! millisecond of the runtime's own.

use tokio::time::{Instant, sleep_until};

/// A shard's timer.
#[derive(Debug, Default)]
pub(super) enum Timer {
    /// The runtime's, which follows a paused clock as well.
    #[default]
    Coarse,
    /// The system's.
    #[cfg(target_os = "linux")]
    Fine(fine::Watched),
}

impl Timer {
    /// The finest that there is. Must be called in the runtime that it is to wake.
    pub(super) fn finest() -> Self {
        #[cfg(target_os = "linux")]
        if let Ok(timer) = fine::Watched::new() {
            return Self::Fine(timer);
        }
        Self::Coarse
    }

    /// Waits until an instant. A wait that is given up leaves nothing behind.
    pub(super) async fn wait_until(&self, at: Instant) {
        match self {
            Self::Coarse => sleep_until(at).await,
            #[cfg(target_os = "linux")]
            Self::Fine(timer) => {
                if timer.wait_until(at).await.is_err() {
                    sleep_until(at).await;
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod fine {
    use std::io;

    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};
    use tokio::net::unix::pipe::Receiver;
    use tokio::time::Instant;

    /// A timer of the kernel. The runtime watches it as it would a pipe: something that can be read once there is something.
    #[derive(Debug)]
    pub(in super::super) struct Watched(Receiver);

    impl Watched {
        pub(super) fn new() -> io::Result<Self> {
            let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
            Receiver::from_owned_fd_unchecked(timer).map(Self)
        }

        pub(super) async fn wait_until(&self, at: Instant) -> io::Result<()> {
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // What else runs on this thread must have its turn.
                tokio::task::yield_now().await;
                return Ok(());
            }
            let it_value = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            // This also takes back an earlier wait that was given up.
            timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: Timespec::default(), it_value })?;
            loop {
                self.0.readable().await?;
                match self.0.try_read(&mut [0; 8]) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    read => return read.map(|_| ()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn the_finest_timer_wakes_no_earlier_than_asked_and_again_after_a_wait_that_was_given_up() {
        let timer = Timer::finest();
        for millis in [0, 1, 3] {
            let given_up = Instant::now() + Duration::from_micros(200);
            tokio::select! {
                biased;
                () = timer.wait_until(given_up) => {}
                () = tokio::task::yield_now() => {}
            }
            let at = Instant::now() + Duration::from_millis(millis);
            timer.wait_until(at).await;
            assert!(Instant::now() >= at, "{millis} ms");
        }
    }
}
