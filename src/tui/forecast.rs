//! The forecast of the first throttle and whether it came true: a function of the recording alone, so that a replay shows what
//! was shown live.

use crate::analysis::prediction::{self, Basis, Capacity, Forecast, Launch};
use crate::analysis::{per_s_in_words, units_per_request};
use crate::load::{BUCKET, Keys, Offset, Rate, Window, WindowId, WindowSpec};
use crate::report::{Event, EventKind, Recording};

/// A throttle this much outside the range is still as predicted: a figure is given to a tenth of a second.
const ROUNDING_S: f64 = 0.1;

/// A forecast for one rate, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// The offered rate; of a ramp, the rate it starts with.
    pub rate: Rate,
    /// The rate it ends with, of a ramp.
    pub ramp_to: Option<Rate>,
    /// When it began, or was asked for.
    pub from: Offset,
    /// What was expected.
    pub expected: Forecast,
    /// What that rests on.
    pub capacity: Capacity,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a forecast. Seconds are from the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// Not known yet, or never: the rate changed before it could be.
    Open,
    /// A request sent then was the first to be throttled.
    Came(f64),
    /// None was, long after it should have been.
    DidNot(f64),
    /// None was, but the client did not offer what it should have.
    Untested,
}

/// How a forecast reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As expected, or nothing to tell yet.
    Quiet,
    /// A throttle is to be expected.
    Ahead,
    /// It came as predicted.
    True,
    /// It did not.
    False,
}

/// The forecast of the rate that was asked for last, or that is in force; `None` where nothing is known of the table's
/// capacity, or no load is meant to run.
pub fn current(recording: &Recording) -> Option<Predicted> {
    let load = &recording.load;
    let asked = load.requested.and_then(|setpoint| Some((setpoint.rate?, setpoint.at)));
    if let Some((rate, at)) = asked.filter(|_| load.is_adjusting()) {
        let op = load.current().map_or(recording.workload.op, |window| window.spec.op);
        let id = WindowId(load.windows.last().map_or(0, |window| window.spec.id.0 + 1));
        return predicted(recording, &WindowSpec::steady(id, String::new(), op, rate, at, None), None);
    }
    let window = load.current()?;
    predicted(recording, &window.spec, Some(window))
}

/// What happened, with the forecasts that have been decided among it, in order of time.
pub fn events(recording: &Recording) -> Vec<Event> {
    let mut events = recording.events.as_ref().clone();
    for window in &recording.load.windows {
        let Some(predicted) = predicted(recording, &window.spec, Some(window)) else { continue };
        let (Outcome::Came(after) | Outcome::DidNot(after)) = predicted.outcome else { continue };
        let (said, detail) = predicted.in_words();
        let at = predicted.from.plus(std::time::Duration::from_secs_f64(after));
        let event = Event { at, kind: EventKind::Note, detail: format!("forecast {said}{detail}") };
        let place = events.partition_point(|earlier| earlier.at <= at);
        events.insert(place, event);
    }
    events
}

/// The ceiling that was known before a window, for its operation.
fn known_before(recording: &Recording, spec: &WindowSpec, units: f64) -> Option<Capacity> {
    match keys(recording, spec)? {
        Keys::Hot => return Some(Capacity::of_one_key(spec.op)),
        Keys::Uniform | Keys::Sequential => {}
        Keys::Zipf(_) => return None,
    }
    let spread = |spec: &WindowSpec| matches!(keys(recording, spec), Some(Keys::Uniform | Keys::Sequential));
    let like = |earlier: &WindowSpec| earlier.id < spec.id && earlier.op == spec.op && spread(earlier);
    let before: Vec<&Window> = recording.load.windows.iter().map(AsRef::as_ref).filter(|w| like(&w.spec)).collect();
    let found = |window: &Window| recording.assessment.windows.iter().find(|found| found.window == window.spec.id);
    let ceiling = |window: &&Window| Some(found(window)?.sustained?.per_s * self::units(recording, &window.spec));
    if let Some(units_per_s) = before.iter().rev().find_map(ceiling) {
        return Capacity::measured(spec.op, units_per_s, before.iter().rev().find_map(|window| found(window)?.burst_units));
    }
    let target = &recording.target;
    let warm = target.warm_throughput.is_none_or(|(write, read)| (write as f64, read as f64) == prediction::FRESH);
    let warm = warm && target.max_units.is_none();
    let fresh = Some(Capacity::fresh(spec.op)).filter(|_| target.created_by_session && target.billing_mode == "on-demand" && warm)?;
    // A table that has already accepted what a fresh one would not is no longer taken for one.
    let refuted = before.iter().any(|w| matches!(outcome(recording, w, expected(&w.spec, &fresh, units, 0.0)), Outcome::DidNot(_)));
    (!refuted).then_some(fresh)
}

/// Units of one request, by the documented rule.
fn units(recording: &Recording, spec: &WindowSpec) -> f64 {
    units_per_request(spec.op, spec.item_bytes.unwrap_or(recording.workload.item_bytes), recording.workload.consistent_read)
}

/// How a window's keys are spread; `None` where that is not known.
fn keys(recording: &Recording, spec: &WindowSpec) -> Option<Keys> {
    spec.keys.or_else(|| recording.workload.keys.parse().ok())
}

/// What a capacity leads one to expect of a window.
fn expected(spec: &WindowSpec, capacity: &Capacity, units: f64, missing: f64) -> Forecast {
    let from_per_s = spec.rate.per_s();
    match (spec.ramp_to, spec.planned_end) {
        (Some(to), Some(end)) => {
            let ramp_s = end.since(spec.start).as_secs_f64();
            Launch { from_per_s, to_per_s: to.per_s(), ramp_s, hold_s: 0.0, units }.meet(capacity, missing).first_throttle
        }
        _ => prediction::at_steady_rate(capacity, from_per_s, units, missing),
    }
}

fn predicted(recording: &Recording, spec: &WindowSpec, window: Option<&std::sync::Arc<Window>>) -> Option<Predicted> {
    if window.is_some_and(|window| window.is_adjusting()) {
        return None;
    }
    let units = units(recording, spec);
    let capacity = known_before(recording, spec, units)?;
    let missing = prediction::missing_units(&recording.load, spec, &capacity, units);
    let expected = expected(spec, &capacity, units, missing);
    let outcome = window.map_or(Outcome::Open, |window| outcome(recording, window, expected));
    Some(Predicted { rate: spec.rate, ramp_to: spec.ramp_to, from: spec.start, expected, capacity, outcome })
}

fn outcome(recording: &Recording, window: &Window, expected: Forecast) -> Outcome {
    if let Some(first) = window.first_throttle() {
        return Outcome::Came(first.as_secs_f64());
    }
    let Forecast::Between { latest_s, .. } = expected else { return Outcome::Open };
    // Long enough after the latest for its answer to be in a complete second.
    let decided = latest_s.mul_add(1.25, 2.0).ceil();
    let seen_to = recording.load.rows.last().map_or(Offset::ZERO, |row| row.start.plus(BUCKET * row.span_s.max(1)));
    let seen_to = window.end.map_or(seen_to, |end| end.min(seen_to));
    if seen_to.since(window.spec.start).as_secs_f64() < decided {
        Outcome::Open
    } else if window.counts.client_shortfall().is_some_and(|share| share >= 0.005) {
        Outcome::Untested
    } else {
        Outcome::DidNot(decided)
    }
}

impl Predicted {
    /// What is said of the rate, and a detail that may be left out.
    pub fn in_words(&self) -> (String, String) {
        let (said, detail) = match (self.outcome, self.expected) {
            (Outcome::Came(after), Forecast::Between { earliest_s, latest_s }) => {
                let how = if after < earliest_s - ROUNDING_S {
                    "sooner than predicted"
                } else if after > latest_s + ROUNDING_S {
                    "later than predicted"
                } else {
                    "as predicted"
                };
                (format!("throttled after {}, {how}", seconds(after)), format!(" ({})", range(earliest_s, latest_s)))
            }
            (Outcome::Came(after), Forecast::ByChance { .. }) => (format!("throttled after {}, by chance", seconds(after)), String::new()),
            (Outcome::Came(after), Forecast::Never) => (format!("throttled after {}, unexpectedly", seconds(after)), String::new()),
            (Outcome::DidNot(after), _) => {
                (format!("no throttle after {}", seconds(after)), ": the table has more than assumed".to_owned())
            }
            (Outcome::Untested, _) => ("no throttle".to_owned(), ", but this client did not offer what it should have".to_owned()),
            (Outcome::Open, Forecast::Between { earliest_s, latest_s }) => (
                format!("first throttle expected {}", range(earliest_s, latest_s)),
                if self.ramp_to.is_some() { " into the ramp" } else { " after the step" }.to_owned(),
            ),
            (Outcome::Open, Forecast::ByChance { soonest_s }) => {
                ("at the ceiling, a throttle only by chance".to_owned(), format!(", not before {}", seconds(soonest_s.floor())))
            }
            (Outcome::Open, Forecast::Never) => ("no throttle expected".to_owned(), String::new()),
        };
        let rate = self.ramp_to.map_or_else(|| format!("{}/s", self.rate), |to| format!("{}-{to}/s", self.rate));
        (format!("at {rate}: {said}"), detail)
    }

    /// What it rests on.
    pub fn because(&self) -> String {
        let ceiling = per_s_in_words(self.capacity.units_per_s);
        match self.capacity.basis {
            Basis::Fresh => format!("a fresh table has {ceiling} units/s, as documented"),
            Basis::Measured | Basis::MeasuredCeiling => format!("{ceiling} units/s were measured"),
            Basis::OneKey => format!("one key has {ceiling} units/s, as documented"),
        }
    }

    /// How it reads.
    pub fn tone(&self) -> Tone {
        match (self.outcome, self.expected) {
            (Outcome::Came(after), Forecast::Between { earliest_s, latest_s }) => {
                let within = (earliest_s - ROUNDING_S..=latest_s + ROUNDING_S).contains(&after);
                if within { Tone::True } else { Tone::False }
            }
            (Outcome::Came(_), Forecast::Never) | (Outcome::DidNot(_), _) => Tone::False,
            (Outcome::Came(_), Forecast::ByChance { .. }) => Tone::True,
            (Outcome::Open, Forecast::Between { .. }) => Tone::Ahead,
            (Outcome::Open | Outcome::Untested, _) => Tone::Quiet,
        }
    }
}

/// Seconds to a tenth, and whole from a hundred up.
fn seconds(s: f64) -> String {
    if s >= 99.95 { super::figures::seconds(Some(s)) } else { format!("{s:.1} s") }
}

/// A range, rounded outwards.
fn range(earliest: f64, latest: f64) -> String {
    if latest >= 99.95 {
        return format!("{} to {}", seconds(earliest.floor()), seconds(latest.ceil()));
    }
    let (low, high) = ((earliest * 10.0 + 1e-6).floor() / 10.0, (latest * 10.0 - 1e-6).ceil() / 10.0);
    if low >= high { format!("{high:.1} s") } else { format!("{low:.1}-{high:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::fixtures::Script;

    fn script() -> Script {
        let mut script = Script::new();
        script.active();
        script
    }

    fn said(script: &mut Script) -> (String, Tone) {
        let predicted = current(&script.recording()).expect("a forecast");
        let (said, detail) = predicted.in_words();
        (format!("{said}{detail}"), predicted.tone())
    }

    #[test]
    fn a_step_above_the_documented_ceiling_is_foretold_when_it_is_asked_for() {
        let mut script = script();
        script.set(Some(2_000), None);
        script.run(5);
        assert_eq!(said(&mut script), ("at 2,000/s: no throttle expected".to_owned(), Tone::Quiet));
        script.request(Some(5_000));
        assert_eq!(said(&mut script), ("at 5,000/s: first throttle expected 3.0-4.0 s after the step".to_owned(), Tone::Ahead));
        script.set(Some(5_000), None);
        script.run(2);
        assert_eq!(said(&mut script), ("at 5,000/s: first throttle expected 3.0-4.0 s after the step".to_owned(), Tone::Ahead));
    }

    #[test]
    fn whether_it_came_true_is_said_and_is_an_event() {
        let mut script = script();
        script.saved(3_000);
        script.set(Some(5_000), None);
        script.run(6);
        assert_eq!(said(&mut script), ("at 5,000/s: throttled after 3.8 s, as predicted (3.0-4.0 s)".to_owned(), Tone::True));
        let events = events(&script.recording());
        let at = events.iter().position(|event| event.detail.starts_with("forecast at 5,000/s")).expect("an event");
        assert!((events[at].at.secs() - 11.84).abs() < 1e-6, "{:?}", events[at]);
        assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at));
    }

    #[test]
    fn a_table_with_more_than_assumed_is_told_and_not_taken_for_fresh_again() {
        let mut script = script();
        script.capacity = 9_000;
        script.set(Some(5_000), None);
        script.run(6);
        assert_eq!(said(&mut script).1, Tone::Ahead);
        script.run(2);
        assert_eq!(said(&mut script), ("at 5,000/s: no throttle after 7.0 s: the table has more than assumed".to_owned(), Tone::False));
        script.set(Some(6_000), None);
        script.run(1);
        assert_eq!(current(&script.recording()), None);
    }

    #[test]
    fn what_was_measured_replaces_what_is_documented() {
        let mut script = script();
        script.set(Some(8_000), None);
        script.run(20);
        script.set(Some(1_000), None);
        script.run(10);
        script.set(Some(6_000), None);
        script.run(1);
        let predicted = current(&script.recording()).expect("a forecast");
        assert_eq!((predicted.capacity.basis, predicted.because()), (Basis::Measured, "4,000 units/s were measured".to_owned()));
    }

    #[test]
    fn nothing_is_foretold_of_a_table_that_nobody_knows() {
        let mut script = script();
        script.change_target(|target| target.created_by_session = false);
        script.set(Some(9_000), None);
        script.run(1);
        assert_eq!(current(&script.recording()), None);
        let mut script = self::script();
        script.change_target(|target| target.warm_throughput = Some((8_000, 24_000)));
        script.set(Some(9_000), None);
        script.run(1);
        assert_eq!(current(&script.recording()), None);
        assert_eq!(current(&Recording::default()), None);
    }

    #[test]
    fn a_range_is_rounded_outwards() {
        assert_eq!(
            [range(3.03, 3.98), range(0.84, 1.0), range(0.95, 0.96), range(62.2, 400.0)],
            ["3.0-4.0 s", "0.8-1.0 s", "0.9-1.0 s", "62.0 s to 6 min 40 s"]
        );
    }
}
