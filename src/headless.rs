//! Without a screen: one status line a second on standard error, until the session is over.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::report::status;
use crate::session::Remote;

/// A status line is written this often.
const EVERY: Duration = Duration::from_secs(1);
/// The session is looked at this often.
const LOOK: Duration = Duration::from_millis(50);

/// Follows a session to its end. The error says why it cannot be followed.
pub fn run(mut remote: Remote) -> Result<(), String> {
    let mut next = Instant::now();
    let mut said = String::new();
    loop {
        let recording = remote.recording();
        let over = recording.phase.is_over() || remote.is_closed();
        if over || Instant::now() >= next {
            next += EVERY;
            let line = status::line(&recording);
            if line != said {
                // Nobody may be reading; the session goes on all the same.
                let _reader_gone = writeln!(std::io::stderr().lock(), "{line}");
                said = line;
            }
        }
        if over {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
}
