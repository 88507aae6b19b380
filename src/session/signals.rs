//! Signals become commands: the first stops the session in order, the second gives up waiting, the third ends the process.

use tokio::signal::unix::{SignalKind, signal};

use super::remote::{Command, Remote};
use crate::report::StopReason;

/// Turns INT, TERM and HUP into commands for as long as it is polled. Calls `ready` once signals no longer end the process by
/// themselves, and `give_up` with the exit code when the process is to end at once.
pub(super) async fn listen(remote: Remote, ready: impl FnOnce(), give_up: impl Fn(u8)) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    ready();
    let mut seen = 0;
    loop {
        let (name, code) = tokio::select! {
            _ = interrupt.recv() => ("INT", 130),
            _ = terminate.recv() => ("TERM", 143),
            _ = hang_up.recv() => ("HUP", 129),
        };
        seen += 1;
        match seen {
            // The session is over, but whoever reads its summary does not: nothing is left to wait for.
            _ if remote.is_closed() => give_up(code),
            1 => drop(remote.send(Command::Stop(StopReason::Signal(name.to_owned())))),
            2 => drop(remote.send(Command::Abandon)),
            // The person has said it three times: what is left behind was named in the journal before it was created.
            _ => give_up(code),
        }
    }
}
