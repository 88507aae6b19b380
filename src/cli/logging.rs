//! The log goes to a file, never to the terminal: a line on standard error would corrupt the screen.

use std::fs::OpenOptions;
use std::sync::Mutex;

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::session::state_dir;

/// A log larger than this is begun anew.
const LARGEST: u64 = 4 * 1_024 * 1_024;

/// Starts the log in the state directory; `THROTTLESCOPE_LOG` (error, warn, info, debug, trace) sets its level. Without a writable directory there is none.
pub(super) fn start() {
    let Some(dir) = state_dir() else { return };
    if std::fs::create_dir_all(&dir).is_err() {
        return;
    }
    let path = dir.join("throttlescope.log");
    let large = std::fs::metadata(&path).is_ok_and(|meta| meta.len() > LARGEST);
    let mut options = OpenOptions::new();
    options.create(true).append(!large).write(true).truncate(large);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let Ok(file) = options.open(path) else { return };
    // The program's own lines only: the SDK's would hold account ids at their finer levels.
    let level = std::env::var("THROTTLESCOPE_LOG").ok().and_then(|level| level.parse().ok()).unwrap_or(Level::INFO);
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Mutex::new(file));
    let log = tracing_subscriber::registry().with(lines).with(Targets::new().with_target("throttlescope", level));
    // Only the first subscriber of a process can be set, and this is it.
    let _first = tracing::subscriber::set_global_default(log);
}
