//! What was typed, what was meant, and the exit code that tells how it went.

pub mod args;
mod commands;
mod compare;
mod doctor;
mod launch;
mod logging;
pub mod meant;
mod plans;
mod repeat;
mod replay;
mod run;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;

use crate::report::{check_writable, write_bytes};
use args::{Cli, Command};

/// Exit code of a command that was told to do something it cannot.
const USAGE: u8 = 2;
/// Exit code of a command that failed.
const FAILED: u8 = 1;

/// Exit code of a command whose expectation is not met.
const NOT_MET: u8 = 3;

/// Why a command did not do what was asked: its exit code and a sentence.
#[derive(Debug)]
struct Refusal {
    code: u8,
    why: String,
}

impl Refusal {
    fn usage(why: impl Into<String>) -> Self {
        Self { code: USAGE, why: why.into() }
    }

    fn failed(why: impl Into<String>) -> Self {
        Self { code: FAILED, why: why.into() }
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    logging::start();
    // Before any screen is set up: the screen's own hook wraps this one.
    if let Err(error) = color_eyre::install() {
        tracing::warn!("panics are reported plainly: {error}");
    }
    let Cli { command, run } = Cli::parse();
    let done = match command {
        None => run::run(&run),
        Some(Command::Run(run)) => run::run(&run),
        Some(Command::Doctor(args)) => doctor::doctor(&args),
        Some(Command::Plan { command }) => commands::plan(&command),
        Some(Command::Report(args)) => commands::report(&args),
        Some(Command::Compare(args)) => compare::compare(&args),
        Some(Command::Replay(args)) => replay::replay(&args),
        Some(Command::Embedded(args)) => commands::embedded(&args),
        Some(Command::Completions { shell }) => commands::completions(shell),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(Refusal { code, why }) => {
            say(&format!("throttlescope: {why}\n"));
            ExitCode::from(code)
        }
    }
}

/// Writes to standard output. A reader that has gone away is no error of ours; a full disk behind it is.
fn print(text: &str) -> Result<(), Refusal> {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Refusal::failed(format!("cannot write to standard output: {error}; name a file with --out")))
        }
        _ => Ok(()),
    }
}

/// Writes to a file that was named: all of it or nothing, and never over another unless that was asked for.
fn write_out(out: &Path, text: &str, force: bool) -> Result<(), Refusal> {
    check_writable(out, force).map_err(|e| Refusal::usage(e.to_string()))?;
    write_bytes(out, text.as_bytes(), force).map_err(|e| Refusal::failed(e.to_string()))
}

/// Writes to standard error.
fn say(text: &str) {
    use std::io::Write as _;
    let _reader_gone = std::io::stderr().lock().write_all(text.as_bytes());
}
