//! Writing a document: all of it or nothing, and never over a file that is already there unless that is asked for.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::document::Document;

/// Why a document was not written. The text says what to type instead.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is a file already.
    #[error("{} is already there; add --force to replace it, or name another file with --out", path.display())]
    Exists {
        /// Which.
        path: PathBuf,
    },
    /// The path is a directory, or names none.
    #[error("{} is a directory; name a file with --out, for example --out {}", path.display(), path.join("session.json").display())]
    Directory {
        /// Which.
        path: PathBuf,
    },
    /// Its directory is not there.
    #[error("the directory {} is not there; create it, or name a file elsewhere with --out", path.display())]
    NoDirectory {
        /// Which.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot write {}: {source}; name a file elsewhere with --out", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Whether a document can be written here, found out before any load is offered: by creating and removing the temporary
/// file that [`write_new`] would use.
pub fn check_writable(path: &Path, force: bool) -> Result<(), WriteError> {
    check_place(path, force)?;
    let temporary = temporary(path);
    create(&temporary).map_err(|source| WriteError::Io { path: path.to_owned(), source })?;
    remove_quietly(&temporary);
    Ok(())
}

/// Writes a document as one line of JSON, readable by its owner only. Whatever happens on the way, the path holds either
/// what it held before or all of the document.
pub fn write_new(path: &Path, document: &Document, force: bool) -> Result<(), WriteError> {
    let mut bytes = serde_json::to_vec(document).map_err(|e| WriteError::Io { path: path.to_owned(), source: e.into() })?;
    bytes.push(b'\n');
    write_bytes(path, &bytes, force)
}

/// Writes a rendering as [`write_new`] writes a document.
pub fn write_bytes(path: &Path, bytes: &[u8], force: bool) -> Result<(), WriteError> {
    check_place(path, force)?;
    let failed = |source: io::Error| WriteError::Io { path: path.to_owned(), source };
    let temporary = temporary(path);
    let placed = fill(&temporary, bytes).and_then(|()| place(&temporary, path, force));
    if placed.is_err() {
        remove_quietly(&temporary);
    }
    placed.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists { path: path.to_owned() },
        _ => failed(source),
    })?;
    // The name itself survives a power cut only once its directory is synced; not every file system can.
    if let Ok(directory) = File::open(directory_of(path)) {
        let _best_effort = directory.sync_all();
    }
    Ok(())
}

fn check_place(path: &Path, force: bool) -> Result<(), WriteError> {
    if path.is_dir() || path.file_name().is_none() {
        return Err(WriteError::Directory { path: path.to_owned() });
    }
    let directory = directory_of(path);
    if !directory.is_dir() {
        return Err(WriteError::NoDirectory { path: directory.to_owned() });
    }
    if !force && path.symlink_metadata().is_ok() {
        return Err(WriteError::Exists { path: path.to_owned() });
    }
    Ok(())
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{}.tmp", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed)));
    directory_of(path).join(name)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn fill(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives the finished file its name. A link, unlike a rename, fails if somebody took the name meanwhile.
fn place(temporary: &Path, path: &Path, force: bool) -> io::Result<()> {
    if force {
        return fs::rename(temporary, path);
    }
    match fs::hard_link(temporary, path) {
        Ok(()) => {
            remove_quietly(temporary);
            Ok(())
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(e),
        // A file system without links: the check just made has to do.
        Err(_) if path.symlink_metadata().is_err() => fs::rename(temporary, path),
        Err(_) => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

fn remove_quietly(path: &Path) {
    let _may_be_gone = fs::remove_file(path);
}
