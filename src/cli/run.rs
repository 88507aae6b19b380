//! `run`: starts the session on a thread of its own, and the screen or the status lines on this one.

use std::io::IsTerminal as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::args::RunArgs;
use super::compare::expected;
use super::meant::{Meant, meant};
use super::{Refusal, print, repeat, say};
use crate::load::engine::panic_text;
use crate::load::{Clock, Op};
use crate::plan::{Plan, PlanWindow};
use crate::report::expect::Subjects;
use crate::report::{Document, StopReason, document, text};
use crate::session::config::Start;
use crate::session::remote::Desk;
use crate::session::{self, Command, Metrics, Outcome, Remote, SessionConfig, remote};
use crate::{headless, tui};

/// After a session has ended, a screen that cannot be left any more (its terminal is gone) is given this long.
pub(super) const SCREEN_GRACE: Duration = Duration::from_secs(3);
/// Leaving the screen on behalf of a thread that cannot is given this long.
const LEAVE_WITHIN: Duration = Duration::from_millis(500);
/// A terminal that goes away is an error of the screen and a signal; the signal, which says it better, has this long to come.
const HANG_UP_WITHIN: Duration = Duration::from_secs(2);

pub(super) fn run(args: &RunArgs) -> Result<u8, Refusal> {
    repeat::sensible(args).map_err(Refusal::usage)?;
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !dumb;
    let Meant { session, screen, document_to_stdout } = meant(args, terminal).map_err(Refusal::usage)?;
    if let Start::Plan(plan) = &session.start
        && let Some(labels) = labels(plan)
    {
        args.expect.iter().try_for_each(|expectation| expectation.fits(&labels)).map_err(Refusal::usage)?;
    }
    let metrics = metrics(args)?;
    if let Some(times) = args.repeat {
        return repeat::run(args, &session, times, metrics.as_ref());
    }
    let (remote, desk) = remote();
    heed_signals(remote.clone())?;
    if let Some(metrics) = &metrics {
        metrics.follow(remote.clone());
    }
    let id = session.id.clone();
    let outcome = conduct(session, screen, &remote, desk, |remote| if screen { watch(remote, args) } else { headless::run(remote) })?;
    let document = document(&outcome.recording);
    let printed = summarise(&document, document_to_stdout);
    let journal =
        session::state_dir().map_or_else(String::new, |dir| format!("; its journal: {}", dir.join(format!("{id}.jsonl")).display()));
    match &outcome.document {
        Some(Ok(path)) => say(&format!("session document: {}\n", path.display())),
        Some(Err(why)) => say(&format!("throttlescope: no session document: {why}{journal}\n")),
        None => {}
    }
    if let Some(left) = &outcome.left_behind {
        say(&format!("throttlescope: {left}\n"));
    }
    let unmet = expected(&args.expect, None, Subjects::One(&document));
    // A document that was to go to standard output and did not is lost, all but its journal.
    match printed {
        Err(Refusal { why, .. }) if document_to_stdout && outcome.exit_code() == 0 => Err(Refusal::failed(format!("{why}{journal}"))),
        // How the session ended says more than what was expected of it.
        _ if outcome.exit_code() == 0 => Ok(unmet),
        _ => Ok(outcome.exit_code()),
    }
}

/// How the windows of a plan will be called; `None` where its search decides on them as it goes.
fn labels(plan: &Plan) -> Option<Vec<String>> {
    let of = |window: &PlanWindow| match window.reads {
        None => vec![window.label.clone()],
        // Mixed load is a window of each operation.
        Some(_) => [Op::Write, Op::Read].map(|op| format!("{} ({})", window.label, op.plural())).to_vec(),
    };
    plan.search.is_none().then(|| plan.windows.iter().flat_map(of).collect())
}

/// Runs a session on a thread of its own, while `follow` shows it on this one.
pub(super) fn conduct(
    session: SessionConfig,
    screen: bool,
    remote: &Remote,
    desk: Desk,
    follow: impl FnOnce(Remote) -> Result<(), String>,
) -> Result<Outcome, Refusal> {
    let clock = Clock::start();
    let (ended, outcome) = mpsc::channel();
    let (screen_left, left) = mpsc::channel::<()>();
    thread::Builder::new()
        .name("control".to_owned())
        .spawn(move || {
            let outcome = control(session, clock, desk);
            let code = outcome.as_ref().map_or(1, Outcome::exit_code);
            let _main_gone = ended.send(outcome);
            // A terminal that is gone may block the screen's thread for ever; nothing is left to wait for.
            if screen && left.recv_timeout(SCREEN_GRACE).is_err_and(|e| e == mpsc::RecvTimeoutError::Timeout) {
                give_up(code);
            }
        })
        .map_err(|e| Refusal::failed(format!("cannot start a thread: {e}")))?;
    // A fault of the screen must not end the process while a table stands: the session is told, and tears down.
    let shown = catch_unwind(AssertUnwindSafe(|| follow(remote.clone())))
        .unwrap_or_else(|panic| Err(format!("the screen panicked: {}", panic_text(panic.as_ref()))));
    if let Err(trouble) = &shown {
        tracing::error!("{trouble}");
        remote.send(Command::Stop(StopReason::Failed(trouble.clone())));
    }
    let outcome = outcome.recv().map_err(|_| Refusal::failed("the session ended without a word; see the log"))?;
    drop(screen_left);
    outcome.map_err(Refusal::failed)
}

/// Where metrics are served, before anything is offered.
fn metrics(args: &RunArgs) -> Result<Option<Metrics>, Refusal> {
    let Some(address) = args.metrics_listen else { return Ok(None) };
    if !address.ip().is_loopback() && !args.metrics_allow_remote {
        return Err(Refusal::usage(format!(
            "{address} can be reached from other machines, and metrics ask for no password; listen on 127.0.0.1:{}, or add --metrics-allow-remote",
            address.port()
        )));
    }
    let metrics = Metrics::listen(address)
        .map_err(|e| Refusal::usage(format!("metrics cannot be served at {address}: {e}; name another address, or port 0 for any")))?;
    say(&format!("metrics: http://{}/metrics\n", metrics.address()));
    Ok(Some(metrics))
}

/// Heeds signals on a thread of its own until the process ends: also while the session is stuck, and when it is over and
/// nobody reads its summary.
pub(super) fn heed_signals(remote: Remote) -> Result<(), Refusal> {
    let cannot = |e: std::io::Error| Refusal::failed(format!("signals cannot be heeded: {e}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let (ready, heeded) = mpsc::channel();
    let refused = ready.clone();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let heed = session::listen_for_signals(remote, move || drop(ready.send(Ok(()))), |code| give_up(code));
            if let Err(error) = runtime.block_on(heed) {
                drop(refused.send(Err(error)));
            }
        })
        .map_err(cannot)?;
    heeded.recv().unwrap_or(Ok(())).map_err(cannot)
}

/// Ends the process although a thread may still be busy with the terminal.
pub(super) fn give_up(code: u8) -> ! {
    tui::terminal::leave_within(LEAVE_WITHIN);
    std::process::exit(i32::from(code))
}

fn control(config: SessionConfig, clock: Clock, desk: Desk) -> Result<Outcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| format!("cannot start: {e}"))?;
    let outcome = runtime.block_on(Box::pin(session::run(config, clock, desk)));
    // A lookup that hangs in a blocking thread must not keep the process.
    runtime.shutdown_background();
    Ok(outcome)
}

fn watch(remote: Remote, args: &RunArgs) -> Result<(), String> {
    let options = tui::Options { step: args.step, glyphs: args.glyphs.into(), theme: args.theme.into() };
    let mut session = remote.clone();
    let shown = tui::run(remote, &options);
    if let Err(tui::TuiError::Draw(_) | tui::TuiError::Read(_)) = &shown {
        let begun = Instant::now();
        while begun.elapsed() < HANG_UP_WITHIN && session.recording().stop_reason.is_none() {
            thread::sleep(Duration::from_millis(20));
        }
    }
    shown.map(|_| ()).map_err(|e| e.to_string())
}

fn summarise(document: &Document, document_to_stdout: bool) -> Result<(), Refusal> {
    if !document_to_stdout {
        return print(&text(document));
    }
    say(&text(document));
    let json = serde_json::to_string_pretty(document).map_err(|e| Refusal::failed(format!("the document cannot be written: {e}")))?;
    print(&format!("{json}\n"))
}
