//! The journal: every entry as a line of JSON, appended by a thread of its own and synced each second, so that a killed
//! session loses at most a second and a slow disk never stalls the load.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::report::Entry;

/// Lines that may wait for the disk. A full channel means a disk that is minutes behind; the session says so and goes on.
const LINES_WAITING: usize = 1_024;
/// The journal is synced this often.
const SYNC: Duration = Duration::from_secs(1);

/// A journal being written.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    lines: Option<SyncSender<Line>>,
    thread: Option<JoinHandle<()>>,
    trouble: Arc<Mutex<Option<String>>>,
}

/// What the thread is sent.
enum Line {
    /// To be written.
    Entry(String),
    /// Everything before this is to be on the disk, and then said so.
    Sync(Sender<()>),
}

/// Where journals and logs are kept: `$XDG_STATE_HOME/throttlescope`, else `~/.local/state/throttlescope`.
pub fn state_dir() -> Option<PathBuf> {
    let base = match std::env::var_os("XDG_STATE_HOME").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir),
        None => PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).join(".local").join("state"),
    };
    Some(base.join("throttlescope"))
}

impl Journal {
    /// Creates the journal of a session in `dir`.
    pub(super) fn create(dir: &Path, session: &str) -> std::io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let path = dir.join(format!("{session}.jsonl"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        let (lines, receiver) = sync_channel(LINES_WAITING);
        let trouble = Arc::new(Mutex::new(None));
        let told = Arc::clone(&trouble);
        let thread = std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
            if let Err(error) = write(file, &receiver)
                && let Ok(mut trouble) = told.lock()
            {
                *trouble = Some(error.to_string());
            }
        })?;
        Ok(Self { path, lines: Some(lines), thread: Some(thread), trouble })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an entry. The error, given once, says that nothing more will be written.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<(), String> {
        let Some(lines) = &self.lines else { return Ok(()) };
        let line = serde_json::to_string(entry).map_err(|e| format!("the journal cannot hold an entry: {e}"))?;
        let full = match lines.try_send(Line::Entry(line)) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Full(_)) => Some("the disk is too slow for it".to_owned()),
            Err(TrySendError::Disconnected(_)) => self.trouble.lock().ok().and_then(|mut trouble| trouble.take()),
        };
        self.lines = None;
        Err(format!("the journal {} ends here: {}", self.path.display(), full.unwrap_or_else(|| "its thread ended".to_owned())))
    }

    /// Waits, for at most [`SYNC`], until what was appended is on the disk.
    pub(super) fn sync(&self) {
        let (synced, done) = channel();
        if self.lines.as_ref().is_some_and(|lines| lines.try_send(Line::Sync(synced)).is_ok()) {
            let _slow_disk = done.recv_timeout(SYNC);
        }
    }

    /// Waits until everything is on the disk.
    pub(super) fn close(mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

fn write(file: File, lines: &Receiver<Line>) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    let mut synced = Instant::now();
    loop {
        let (mut ended, mut asked) = (false, None);
        match lines.recv_timeout(SYNC) {
            Ok(Line::Entry(line)) => {
                out.write_all(line.as_bytes())?;
                out.write_all(b"\n")?;
            }
            Ok(Line::Sync(done)) => asked = Some(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => ended = true,
        }
        if ended || asked.is_some() || synced.elapsed() >= SYNC {
            out.flush()?;
            out.get_ref().sync_data()?;
            synced = Instant::now();
        }
        if let Some(done) = asked {
            let _waited_long_enough = done.send(());
        }
        if ended {
            return Ok(());
        }
    }
}
