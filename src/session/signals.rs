//! Signals become commands: the first stops the session in order, the second gives up waiting, the third ends the process.

use tokio::signal::unix::{SignalKind, signal};

use super::remote::{Command, Remote};
use crate::report::StopReason;

/// Turns INT, TERM and HUP into commands for as long as it is polled.
pub(super) async fn listen(remote: Remote) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut seen = 0;
    loop {
        let (name, code) = tokio::select! {
            _ = interrupt.recv() => ("INT", 130),
            _ = terminate.recv() => ("TERM", 143),
            _ = hang_up.recv() => ("HUP", 129),
        };
        seen += 1;
        match seen {
            1 => remote.send(Command::Stop(StopReason::Signal(name.to_owned()))),
            2 => remote.send(Command::Abandon),
            // The person has said it three times: what is left behind was named in the journal before it was created.
            _ => std::process::exit(code),
        };
    }
}
