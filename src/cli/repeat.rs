//! `run --repeat`: the plan on several fresh tables, one after the other, and the spread between them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use super::args::RunArgs;
use super::compare::expected;
use super::run::{conduct, heed_signals};
use super::{FAILED, Refusal, print, say};
use crate::analysis::per_s_in_words;
use crate::headless;
use crate::load::thousands;
use crate::plan::{Plan, show_span};
use crate::report::compare::{Side, spread_text, spreads};
use crate::report::expect::Subjects;
use crate::report::{Document, StopReason, check_writable, document};
use crate::session::config::{Guards, SessionConfig, Start, TargetChoice};
use crate::session::remote::Desk;
use crate::session::{Command, Metrics, Outcome, Remote, exit_code_of, guard, remote, session_id};

/// Signals are passed on this often.
const LOOK: Duration = Duration::from_millis(20);

/// Whether these options allow to repeat at all. The error says what to type instead.
pub(super) fn sensible(args: &RunArgs) -> Result<(), String> {
    if args.repeat.is_none() {
        return Ok(());
    }
    if args.table.is_some() {
        return Err("--repeat measures fresh tables; leave out --table, or --repeat".to_owned());
    }
    if args.out.as_deref() == Some(Path::new("-")) {
        return Err("--repeat makes several documents; name a file with --out, for example --out x.json for x-1.json and so on".to_owned());
    }
    Ok(())
}

/// `x.json` as the document of this run: `x-2.json`.
pub(super) fn numbered(path: &Path, run: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map_or_else(String::new, |extension| format!(".{}", extension.to_string_lossy()));
    path.with_file_name(format!("{stem}-{run}{extension}"))
}

/// Guards over all runs together.
struct Budget {
    guards: Guards,
    begun: Instant,
    operations: u64,
    usd: f64,
}

impl Budget {
    /// Refuses what the guards would stop half way.
    fn check(plan: &Plan, config: &SessionConfig, times: u32) -> Result<(), String> {
        let guards = config.guards;
        let what = format!("plan {}, {times} times,", plan.name);
        let operations = plan.operations().saturating_mul(u64::from(times));
        if let Some(most) = guards.max_ops.filter(|most| operations > *most) {
            let offers = thousands(operations);
            return Err(format!("{what} offers {offers} operations, above --max-ops {most}; type --max-ops {operations} to allow it"));
        }
        let length = plan.duration() * times;
        if let Some(longest) = guards.max_duration.filter(|longest| length > *longest) {
            let needed = show_span(length + Duration::from_secs(60) * times);
            return Err(format!(
                "{what} takes {}, longer than --max-duration {}; type --max-duration {needed} to allow it",
                show_span(length),
                show_span(longest)
            ));
        }
        let worst = guard::worst_case(plan, config).map(|worst| worst * f64::from(times));
        if let (Some(most), Some(worst)) = (guards.max_cost, worst)
            && worst > most
        {
            let needed = (worst * 1.01 * 100.0).ceil() / 100.0;
            return Err(format!("{what} may cost ${worst:.2}, above --max-cost {most}; type --max-cost {needed:.2} to allow it"));
        }
        Ok(())
    }

    /// What is left for the next run. The error says which guard leaves too little.
    fn left(&self, plan: &Plan) -> Result<Guards, String> {
        let max_duration = self.guards.max_duration.map(|longest| longest.saturating_sub(self.begun.elapsed()));
        match (self.guards.max_duration, max_duration) {
            (Some(longest), Some(left)) if left < plan.duration() => {
                Err(format!("--max-duration {} leaves {}, less than the plan takes", show_span(longest), show_span(left)))
            }
            _ => Ok(Guards {
                max_ops: self.guards.max_ops.map(|most| most.saturating_sub(self.operations)),
                max_cost: self.guards.max_cost.map(|most| (most - self.usd).max(0.0)),
                max_duration,
            }),
        }
    }

    fn spend(&mut self, outcome: &Outcome) {
        self.operations += outcome.recording.load.totals.offered;
        self.usd += outcome.recording.cost.usd.unwrap_or(0.0);
    }
}

/// Passes signals on to whichever session runs, and remembers one that came while none did.
struct Relay {
    state: Arc<Mutex<Relayed>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Relayed {
    current: Option<Remote>,
    stopped: Option<StopReason>,
}

impl Relay {
    fn start() -> Result<Self, Refusal> {
        let (signals, desk) = remote();
        heed_signals(signals)?;
        let state = Arc::new(Mutex::new(Relayed::default()));
        let over = Arc::new(AtomicBool::new(false));
        let (shared, until) = (Arc::clone(&state), Arc::clone(&over));
        let thread = thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || relay(desk, &shared, &until))
            .map_err(|e| Refusal::failed(format!("cannot start a thread: {e}")))?;
        Ok(Self { state, over, thread: Some(thread) })
    }

    /// From now on signals are for this session. Why it must not start, if one has come already.
    fn steers(&self, remote: Remote) -> Result<(), StopReason> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.current = Some(remote);
        state.stopped.clone().map_or(Ok(()), Err)
    }

    fn stopped(&self) -> Option<StopReason> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).stopped.clone()
    }

    /// From now on a signal ends the process at once: nothing is left to tear down.
    fn end(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

fn relay(mut desk: Desk, state: &Mutex<Relayed>, over: &AtomicBool) {
    use tokio::sync::mpsc::error::TryRecvError;
    loop {
        match desk.commands.try_recv() {
            Ok(command) => {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                if let Command::Stop(reason) = &command {
                    state.stopped.get_or_insert_with(|| reason.clone());
                }
                if let Some(remote) = &state.current {
                    remote.send(command);
                }
            }
            Err(TryRecvError::Empty) if !over.load(Ordering::SeqCst) => thread::sleep(LOOK),
            Err(_) => return,
        }
    }
}

/// What was done so far.
#[derive(Default)]
struct Done {
    runs: Vec<(String, Document)>,
    code: u8,
}

impl Done {
    /// The worst is kept: a table that stands before all, then what failed, a guard, a signal, an expectation.
    fn note(&mut self, code: u8) {
        let rank = |code: u8| match code {
            0 => 0,
            super::NOT_MET => 1,
            129.. => 2,
            4 => 3,
            5 => 5,
            _ => 4,
        };
        if rank(code) > rank(self.code) {
            self.code = code;
        }
    }
}

/// Runs `first` and its repetitions. Stops early when a signal, a guard or a failure ends one of them.
pub(super) fn run(args: &RunArgs, first: &SessionConfig, times: u32, metrics: Option<&Metrics>) -> Result<u8, Refusal> {
    let Start::Plan(plan) = &first.start else { return Err(Refusal::usage("--repeat repeats a plan; type for example --plan quick")) };
    Budget::check(plan, first, times).map_err(Refusal::usage)?;
    if let Some(out) = &args.out {
        for run in 1..=times {
            check_writable(&numbered(out, run), args.force).map_err(|e| Refusal::usage(e.to_string()))?;
        }
    }
    let mut relay = Relay::start()?;
    let mut budget = Budget { guards: first.guards, begun: Instant::now(), operations: 0, usd: 0.0 };
    let mut done = Done::default();
    for run in 1..=times {
        let guards = match budget.left(plan) {
            Ok(guards) => guards,
            Err(why) => {
                say(&format!("throttlescope: run {run} of {times} is left out: {why}\n"));
                done.note(4);
                break;
            }
        };
        let (remote, desk) = remote();
        if relay.steers(remote.clone()).is_err() {
            break;
        }
        let config = repetition(args, first, run, guards);
        say(&format!("run {run} of {times}: session {}, seed {}\n", config.id, config.seed));
        if let Some(metrics) = metrics {
            metrics.follow(remote.clone());
        }
        let id = config.id.clone();
        match conduct(config, false, &remote, desk, headless::run) {
            Ok(outcome) => {
                budget.spend(&outcome);
                let code = outcome.exit_code();
                let unmet = told(args, &id, &outcome, &mut done);
                done.note(code);
                done.note(unmet);
                if code != 0 {
                    break;
                }
            }
            Err(Refusal { why, .. }) => {
                say(&format!("throttlescope: run {run} of {times}: {why}\n"));
                done.note(FAILED);
                break;
            }
        }
    }
    if let Some(reason) = relay.stopped() {
        done.note(exit_code_of(Some(&reason)));
    }
    relay.end();
    print(&summary(&done.runs, plan, times))?;
    Ok(done.code)
}

/// The session of one run.
fn repetition(args: &RunArgs, first: &SessionConfig, run: u32, guards: Guards) -> SessionConfig {
    let mut config = first.clone();
    let more = u64::from(run - 1);
    if run > 1 {
        config.id = session_id(SystemTime::now(), std::process::id());
    }
    config.seed = first.seed.wrapping_add(more);
    if let TargetChoice::Embedded(simulated) = &mut config.target {
        simulated.seed = simulated.seed.wrapping_add(more);
    }
    let by_id = || PathBuf::from(format!("throttlescope-{}.json", config.id));
    config.output.document = Some(args.out.as_ref().map_or_else(by_id, |out| numbered(out, run)));
    config.guards = guards;
    config
}

/// Says how one run ended, and keeps its document. Returns the exit code that its expectations amount to.
fn told(args: &RunArgs, id: &str, outcome: &Outcome, done: &mut Done) -> u8 {
    let made = document(&outcome.recording);
    let name = match &outcome.document {
        Some(Ok(path)) => {
            say(&format!("session document: {}\n", path.display()));
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
        }
        Some(Err(why)) => {
            say(&format!("throttlescope: no session document: {why}\n"));
            id.to_owned()
        }
        None => id.to_owned(),
    };
    if let Some(left) = &outcome.left_behind {
        say(&format!("throttlescope: {left}\n"));
    }
    let unmet = expected(&args.expect, Some(&name), Subjects::One(&made));
    done.runs.push((name, made));
    unmet
}

fn summary(runs: &[(String, Document)], plan: &Plan, times: u32) -> String {
    let mut page = String::new();
    if runs.iter().any(|(_, document)| document.target.simulated) {
        page.push_str("SIMULATED: the simulated endpoint answered, not AWS.\n");
    }
    page.push_str(&format!("plan {}, {} of {times} runs:\n", plan.name, runs.len()));
    for (name, document) in runs {
        let verdict = &document.verdict;
        let ceiling = verdict.sustained_per_s.get().map_or_else(String::new, |per_s| format!(", sustained {}/s", per_s_in_words(per_s)));
        let how = document.session.stop_reason.as_deref().unwrap_or("no word about its end");
        page.push_str(&format!("  {name}: {}{ceiling}; {how}\n", verdict.kind));
    }
    let sides: Vec<Side<'_>> = runs.iter().map(|(name, document)| Side { name, document }).collect();
    for spread in spreads(&sides, 2) {
        page.push('\n');
        page.push_str(&spread_text(&spread));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_numbered_before_their_extension() {
        for (out, second) in [("x.json", "x-2.json"), ("a/b.c.json", "a/b.c-2.json"), ("plain", "plain-2"), (".hidden", ".hidden-2")] {
            assert_eq!(numbered(Path::new(out), 2), Path::new(second));
        }
    }

    #[test]
    fn the_worst_exit_code_is_kept() {
        for (codes, worst) in [(vec![0, 3, 0], 3), (vec![3, 130], 130), (vec![130, 4], 4), (vec![4, 1], 1), (vec![1, 5, 3], 5), (vec![], 0)]
        {
            let mut done = Done::default();
            for code in &codes {
                done.note(*code);
            }
            assert_eq!(done.code, worst, "{codes:?}");
        }
    }
}
