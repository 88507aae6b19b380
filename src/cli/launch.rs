//! `plan launch`: will a launch throttle, when first, and what to ask for beforehand.

use std::time::Duration;

use serde::Serialize;

use super::args::LaunchArgs;
use super::meant::ITEM_BYTES;
use super::{Refusal, print, write_out};
use crate::analysis::cost::Prices;
use crate::analysis::prediction::{self, Basis, Capacity, Course, Forecast, Launch};
use crate::analysis::{VerdictKind, per_s_in_words, units_per_request};
use crate::load::{Op, Rate, thousands};
use crate::plan::{Plan, PlanWindow, show_span, to_toml};
use crate::report::{Document, load_document};

/// WarmThroughput is asked for with this much above the launch's units.
const HEADROOM: f64 = 1.10;
/// It is rounded up to a multiple of this.
const ROUND_TO: f64 = 100.0;
/// Default quota of a table, units/s.
const QUOTA: f64 = 40_000.0;
/// No line of the text is longer.
const WIDTH: usize = 100;

/// What is known of the table.
struct Known {
    capacity: Capacity,
    /// The session that measured it.
    session: Option<Box<Document>>,
}

/// What was asked, with what was left out filled in.
struct Asked<'a> {
    args: &'a LaunchArgs,
    op: Op,
    item_bytes: u32,
    consistent_read: bool,
    launch: Launch,
}

/// The whole answer: the shape of `--json`.
#[derive(Serialize)]
struct Answer {
    schema: &'static str,
    op: Op,
    item_bytes: u32,
    units_per_request: f64,
    from_per_s: f64,
    target_per_s: f64,
    ramp_s: f64,
    hold_s: f64,
    capacity: CapacityAnswer,
    /// `will-throttle`, `may-throttle` or `will-not-throttle`.
    verdict: &'static str,
    first_throttle: Option<FirstThrottle>,
    ramp: PartAnswer,
    hold: PartAnswer,
    warm_throughput: Option<Warm>,
    /// Not known here.
    warm_throughput_usd: Option<f64>,
    usd_per_hour_at_target: Option<f64>,
    usd_of_ramp_and_hold: Option<f64>,
    test: String,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct CapacityAnswer {
    basis: &'static str,
    simulated: bool,
    session: Option<String>,
    units_per_s: f64,
    burst_units: f64,
    partitions: f64,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "units are part of the names")]
struct FirstThrottle {
    earliest_s: f64,
    /// Null where only chance would throttle.
    latest_s: Option<f64>,
    earliest_at_per_s: f64,
    latest_at_per_s: Option<f64>,
}

#[derive(Serialize)]
struct PartAnswer {
    offered: u64,
    throttled: u64,
}

#[derive(Serialize)]
struct Warm {
    write_units_per_s: u64,
    read_units_per_s: u64,
    headroom: f64,
}

pub(super) fn launch(args: &LaunchArgs) -> Result<(), Refusal> {
    let (known, asked) = understood(args).map_err(Refusal::usage)?;
    if let Some(out) = &args.out {
        write_out(out, &to_toml(&plan(&asked)?), args.force)?;
    }
    let course = asked.launch.meet(&known.capacity, 0.0);
    let answer = answer(&known, &asked, course);
    if args.json {
        let json = serde_json::to_string_pretty(&answer).map_err(|e| Refusal::failed(format!("the answer cannot be written: {e}")))?;
        return print(&format!("{json}\n"));
    }
    print(&text(&known, &asked, &answer))
}

/// The launch as a plan. Windows last at least a second, so a shorter ramp is a step.
fn plan(asked: &Asked<'_>) -> Result<Plan, Refusal> {
    let (args, target) = (asked.args, asked.args.target_rate);
    let whole = |span: Duration| Duration::from_secs(span.as_secs());
    let window = |rate, length| PlanWindow::steady(asked.op, rate, length, Duration::ZERO);
    let (ramp, hold) = (whole(args.ramp), whole(args.hold));
    let mut windows = Vec::new();
    if !ramp.is_zero() {
        // A plan cannot offer nothing: a ramp from nothing starts with one request a second.
        let from = args.from.unwrap_or_else(|| Rate::per_second(1).min(target));
        windows.push(PlanWindow { label: "ramp".to_owned(), ramp_to: Some(target).filter(|to| *to != from), ..window(from, ramp) });
    }
    if !hold.is_zero() {
        windows.push(PlanWindow { label: "hold".to_owned(), ..window(target, hold) });
    }
    if windows.is_empty() {
        return Err(Refusal::usage("ramp and hold are both under a second, too short for a plan; type for example --hold 1m"));
    }
    let about = format!("A launch: {target} {}/s after {}.", asked.op.plural(), show_span(args.ramp));
    let consistent_read = (asked.op == Op::Read).then_some(asked.consistent_read);
    Ok(Plan { item_bytes: Some(asked.item_bytes), consistent_read, ..Plan::of("launch", about, windows) })
}

fn understood(args: &LaunchArgs) -> Result<(Known, Asked<'_>), String> {
    let document = args.session.as_deref().map(load_document).transpose()?.map(Box::new);
    if args.ramp.is_zero() && args.hold.is_zero() {
        return Err("a launch of no length offers nothing; type for example --ramp 10m".to_owned());
    }
    let op = args.op.or_else(|| document.as_deref().map(|d| measured_window(d).map_or(d.workload.op, |w| w.op))).unwrap_or_default();
    let item_bytes = args.item_bytes.or_else(|| document.as_deref().map(|d| d.workload.item_bytes)).unwrap_or(ITEM_BYTES);
    let consistent_read = args.consistent_read || document.as_deref().is_some_and(|d| d.workload.consistent_read);
    let launch = Launch {
        from_per_s: args.from.map_or(0.0, Rate::per_s),
        to_per_s: args.target_rate.per_s(),
        ramp_s: args.ramp.as_secs_f64(),
        hold_s: args.hold.as_secs_f64(),
        units: units_per_request(op, item_bytes, consistent_read),
    };
    let capacity = match document.as_deref() {
        None => Capacity::fresh(op),
        Some(document) => measured(document, op)?,
    };
    Ok((Known { capacity, session: document }, Asked { args, op, item_bytes, consistent_read, launch }))
}

/// The last window that shows whose limit was met.
fn measured_window(document: &Document) -> Option<&crate::report::document::Window> {
    document.windows.iter().rev().find(|w| w.verdict == VerdictKind::ServiceBound && w.sustained_per_s.get().is_some())
}

/// What a session measured of an operation. The error says why it tells nothing of it.
fn measured(document: &Document, op: Op) -> Result<Capacity, String> {
    let (id, work) = (&document.session.id, &document.workload);
    let Some(window) = measured_window(document) else {
        let least = document.verdict.clean_at_least_per_s.get();
        let least = least.map_or_else(String::new, |rate| format!(" (it accepted all of {}/s)", per_s_in_words(rate)));
        return Err(format!(
            "session {id} found no ceiling{least}: its verdict is {}; name a session of the plan ceiling, or leave out --session",
            document.verdict.kind
        ));
    };
    if window.op != op {
        return Err(format!(
            "session {id} measured {}, which says nothing of {}; type --op {}, or leave out --session",
            window.op.plural(),
            op.plural(),
            window.op
        ));
    }
    let keys = window.keys.as_ref().unwrap_or(&work.keys);
    if !matches!(keys.as_str(), "uniform" | "sequential") {
        return Err(format!("session {id} had keys {keys}, so its ceiling is not that of the table; name a session with uniform keys"));
    }
    // The pooled ceiling is better known; where windows differ in their items, requests/s cannot be pooled.
    let own = document.windows.iter().any(|window| window.item_bytes.is_some());
    let pooled = document.verdict.sustained_per_s.get().filter(|_| !own);
    let per_s = pooled.or(window.sustained_per_s.get()).unwrap_or_default();
    let units = units_per_request(op, window.item_bytes.unwrap_or(work.item_bytes), work.consistent_read);
    Capacity::measured(op, per_s * units, document.verdict.burst_units.get())
        .ok_or_else(|| format!("session {id} states a ceiling of {per_s}/s, which no table has; name another session"))
}

fn answer(known: &Known, asked: &Asked<'_>, course: Course) -> Answer {
    let (launch, capacity) = (&asked.launch, &known.capacity);
    let peak = launch.from_per_s.max(launch.to_per_s);
    let (word, first) = match course.first_throttle {
        Forecast::Never => ("will-not-throttle", None),
        Forecast::ByChance { soonest_s } => ("may-throttle", Some((soonest_s, None))),
        Forecast::Between { earliest_s, latest_s } => ("will-throttle", Some((earliest_s, Some(latest_s)))),
    };
    let needs_more = word != "will-not-throttle";
    let wanted = (peak * launch.units * HEADROOM / ROUND_TO - 1e-6).ceil() * ROUND_TO;
    let warm = |of_op: Op, fresh: f64| (if of_op == asked.op { wanted.max(fresh) } else { fresh }) as u64;
    let warm = needs_more.then(|| Warm {
        write_units_per_s: warm(Op::Write, prediction::FRESH.0),
        read_units_per_s: warm(Op::Read, prediction::FRESH.1),
        headroom: HEADROOM - 1.0,
    });
    let price = Prices::find(&asked.args.region).map(|price| price.of(asked.op));
    let usd = |requests: f64| price.map(|price| (requests * launch.units * price / 1e4).round() / 100.0);
    let part = |part: prediction::Part| PartAnswer { offered: part.offered.round() as u64, throttled: part.throttled.round() as u64 };
    let document = known.session.as_deref();
    Answer {
        schema: "throttlescope.launch/1",
        op: asked.op,
        item_bytes: asked.item_bytes,
        units_per_request: launch.units,
        from_per_s: launch.from_per_s,
        target_per_s: launch.to_per_s,
        ramp_s: launch.ramp_s,
        hold_s: launch.hold_s,
        capacity: CapacityAnswer {
            basis: match capacity.basis {
                Basis::Measured => "measured",
                Basis::MeasuredCeiling => "measured-ceiling",
                Basis::Fresh | Basis::OneKey => "documented",
            },
            simulated: document.is_some_and(|d| d.target.simulated),
            session: document.map(|d| d.session.id.clone()),
            units_per_s: capacity.units_per_s,
            burst_units: capacity.burst_units,
            partitions: capacity.partitions,
        },
        verdict: word,
        first_throttle: first.map(|(earliest_s, latest_s)| FirstThrottle {
            earliest_s,
            latest_s,
            earliest_at_per_s: launch.rate_at(earliest_s),
            latest_at_per_s: latest_s.map(|latest| launch.rate_at(latest)),
        }),
        ramp: part(course.ramp),
        hold: part(course.hold),
        test: test(asked, warm.as_ref()),
        warm_throughput: warm,
        warm_throughput_usd: None,
        usd_per_hour_at_target: usd(launch.to_per_s * 3_600.0),
        usd_of_ramp_and_hold: usd(course.ramp.offered + course.hold.offered),
        notes: notes(known, asked, peak),
    }
}

/// The command that tests it on AWS: the rate at once, which is harder on the table than the ramp.
fn test(asked: &Asked<'_>, warm: Option<&Warm>) -> String {
    let (args, launch) = (asked.args, &asked.launch);
    let seconds = launch.hold_s.clamp(30.0, 300.0) as u64;
    let warm = warm.map_or_else(String::new, |w| format!(" --warm {},{}", w.write_units_per_s, w.read_units_per_s));
    let strong = if asked.op == Op::Read && asked.consistent_read { " --consistent-read" } else { "" };
    let start = format!("throttlescope run --headless --target aws --region {}", args.region);
    if let Some(out) = &args.out {
        return format!("{start} --plan {}{warm}", out.display());
    }
    let peak = if launch.from_per_s > launch.to_per_s { args.from.unwrap_or(args.target_rate) } else { args.target_rate };
    format!(
        "{start} --op {} --item-bytes {}{strong} --rate {} --window {seconds}s{warm}",
        asked.op,
        asked.item_bytes,
        peak.to_string().replace(',', ""),
    )
}

fn notes(known: &Known, asked: &Asked<'_>, peak: f64) -> Vec<String> {
    let (capacity, launch) = (&known.capacity, &asked.launch);
    let mut notes = Vec::new();
    if let Some(document) = known.session.as_deref().filter(|d| d.target.simulated) {
        notes.push(format!(
            "SIMULATED: session {} measured the simulated endpoint, which shows its model and not the service",
            document.session.id
        ));
    }
    if capacity.basis == Basis::Fresh {
        notes.push(format!(
            "{} units/s are what is documented for a fresh on-demand table; that it saves up {} s of them, over {} partitions, is an assumption: measure it with the plan ceiling and give that session with --session",
            per_s_in_words(capacity.units_per_s),
            prediction::BURST_S,
            capacity.partitions,
        ));
    }
    if capacity.basis == Basis::MeasuredCeiling {
        notes.push(format!(
            "the session states no burst; that the table saves up {} s of its capacity is an assumption",
            prediction::BURST_S
        ));
    }
    notes.push(
        "growth is not counted on: it is documented that an on-demand table takes up to twice its previous peak at once and may throttle \
         above that within 30 min; when it grows is up to the service"
            .to_owned(),
    );
    let grew = known.session.as_deref().map(|document| document.steps.as_slice()).unwrap_or_default();
    for step in grew.iter().filter(|step| step.to_per_s.get() > step.from_per_s.get()) {
        let per_s = |rate: crate::report::Finite| per_s_in_words(rate.get().unwrap_or(f64::NAN));
        let at = step.at_s.get().unwrap_or_default();
        notes.push(format!(
            "that session saw its ceiling rise from {} to {}/s at {}; that another table does the same is a hypothesis",
            per_s(step.from_per_s),
            per_s(step.to_per_s),
            span(at)
        ));
    }
    notes.push(format!(
        "keys are taken to spread evenly: one key, or one partition, gets at most {} units/s, whatever the table has",
        per_s_in_words(prediction::of(asked.op, prediction::PARTITION))
    ));
    if peak * launch.units > QUOTA {
        notes.push(format!(
            "{} units/s are above the default quota of {} units/s for a table: have it raised first",
            per_s_in_words(peak * launch.units),
            per_s_in_words(QUOTA)
        ));
    }
    notes
}

/// A time as people say it: tenths of a second below a minute.
fn span(seconds: f64) -> String {
    if seconds < 60.0 { format!("{seconds:.1} s") } else { show_span(std::time::Duration::from_secs(seconds.round() as u64)) }
}

fn text(known: &Known, asked: &Asked<'_>, answer: &Answer) -> String {
    let mut page = format!("{}\n", headline(answer));
    let mut say = |label: &str, words: &str| {
        let first = format!("{label:<16}");
        let options = textwrap::Options::new(WIDTH)
            .initial_indent(&first)
            .subsequent_indent("                ")
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        for line in textwrap::wrap(words, options) {
            page.push_str(line.trim_end());
            page.push('\n');
        }
    };
    let launch = &asked.launch;
    let from = per_s_in_words(launch.from_per_s);
    let to = per_s_in_words(launch.to_per_s);
    let plural = asked.op.plural();
    let of_units = if (launch.units - 1.0).abs() < 1e-9 { "1 unit".to_owned() } else { format!("{} units", per_s_in_words(launch.units)) };
    let bytes = thousands(asked.item_bytes.into());
    let ramp = if launch.ramp_s > 0.0 {
        format!("{from} to {to} {plural}/s in {}", span(launch.ramp_s))
    } else {
        format!("{to} {plural}/s at once")
    };
    say("launch", &format!("{ramp}, then held for {}; {bytes} bytes, {of_units} each", span(launch.hold_s)));
    let capacity = &known.capacity;
    let basis = match (known.session.as_deref(), capacity.basis) {
        (Some(d), _) => format!(
            "measured by session {} of {} ({})",
            d.session.id,
            d.session.started_at,
            if d.target.simulated { "SIMULATED" } else { d.target.kind.name() }
        ),
        (None, _) => "documented for a fresh on-demand table".to_owned(),
    };
    let (sustained, burst) = (per_s_in_words(capacity.units_per_s), per_s_in_words(capacity.burst_units));
    say("capacity", &format!("{sustained} units/s and {burst} units of burst: {basis}"));
    if answer.first_throttle.is_some() {
        let share = |part: &PartAnswer| if part.offered > 0 { part.throttled as f64 * 100.0 / part.offered as f64 } else { 0.0 };
        let part = |name: &str, part: &PartAnswer| {
            format!("{} of {} in the {name} ({:.1} %)", thousands(part.throttled), thousands(part.offered), share(part))
        };
        say("throttled", &format!("{}, {}, if the table does not grow", part("ramp", &answer.ramp), part("hold", &answer.hold)));
    }
    match &answer.warm_throughput {
        Some(w) => {
            let (write, read) = (w.write_units_per_s, w.read_units_per_s);
            say(
                "ask for",
                &format!(
                    "WarmThroughput of {} write and {} read units/s: {:.0} % above the launch (--warm {write},{read})",
                    thousands(write),
                    thousands(read),
                    w.headroom * 100.0
                ),
            );
            say("its price", "of raising warm throughput is not known here: look it up before you ask for it; it cannot be lowered again");
        }
        None => say("ask for", "nothing: the launch stays below what the table sustains"),
    }
    match (answer.usd_per_hour_at_target, answer.usd_of_ramp_and_hold) {
        (Some(hour), Some(all)) => say(
            "bill",
            &format!(
                "${hour:.2} an hour at {to}/s, on demand in {}; ramp and hold at most ${all:.2} (prices of {})",
                asked.args.region,
                Prices::shipped().as_of
            ),
        ),
        _ => say("bill", &format!("the price in {} is not known here", asked.args.region)),
    }
    say(
        "test it",
        match &asked.args.out {
            Some(_) => "with the plan that was written; plan show tells beforehand what it costs:",
            None => "at the full rate at once, which is harder on the table than a ramp (--out FILE writes the ramp as a plan):",
        },
    );
    page.push_str(&format!("  {}\n", answer.test));
    page.push('\n');
    for note in &answer.notes {
        let options =
            textwrap::Options::new(WIDTH).initial_indent("- ").subsequent_indent("  ").word_separator(textwrap::WordSeparator::AsciiSpace);
        page.push_str(&textwrap::fill(note, options));
        page.push('\n');
    }
    page
}

fn headline(answer: &Answer) -> String {
    match (&answer.first_throttle, answer.verdict) {
        (Some(FirstThrottle { earliest_s, latest_s: Some(latest_s), earliest_at_per_s, latest_at_per_s }), _) => {
            let latest_at = latest_at_per_s.unwrap_or(*earliest_at_per_s);
            let (low, high) = (per_s_in_words(*earliest_at_per_s), per_s_in_words(latest_at));
            let at = if low == high { high } else { format!("{low} to {high}") };
            let (early, late) = (span(*earliest_s), span(*latest_s));
            let when = if early == late { late } else { format!("{early} to {late}") };
            format!("WILL THROTTLE: first {when} after the start, at {at}/s")
        }
        (Some(first), _) => format!("MAY THROTTLE: it stays at the edge, where chance throttles, not before {}", span(first.earliest_s)),
        (None, _) => "WILL NOT THROTTLE, if the table has what is assumed".to_owned(),
    }
}
