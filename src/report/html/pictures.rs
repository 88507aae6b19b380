//! The two charts of the page: what they show, their keys, and their text alternatives.

use crate::analysis::units_per_request;

use super::super::document::{Document, Window};
use super::super::figures::{clock, millis, rate, whole};
use super::axis::Scale;
use super::chart::{Chart, Ink, Level, Series, Shape, Size};
use super::series::{Runs, Seconds, Span, bottom, top};

/// At a desk and on a phone.
pub(super) const SIZES: [(&str, Size); 2] = [("wide", Size { width: 960, height: 340 }), ("narrow", Size { width: 340, height: 260 })];
/// Points of a line, by the same order.
const MOST_POINTS: [usize; 2] = [960, 340];

/// A chart in each size, with what is said of it.
pub(super) struct Picture {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What the picture shows, in words.
    pub(super) told: String,
    /// Colour and name of what is drawn.
    pub(super) keys: Vec<(Ink, String)>,
    pub(super) charts: [Chart; 2],
    /// Seconds that a point joins in each size.
    joined: [usize; 2],
}

impl Picture {
    /// How many seconds a point joins, where it joins any; `of` says how they are joined.
    pub(super) fn joining(&self, at: usize, of: &str) -> Option<String> {
        (self.joined[at] > 1).then(|| format!("Each point joins {} buckets and shows {of}.", self.joined[at]))
    }
}

/// From the start of the first window to the end of the last, else all that was recorded.
fn span(document: &Document) -> Span {
    let spans = windows(document);
    let from = spans.iter().map(|(_, span)| span.0).reduce(f64::min);
    let to = spans.iter().map(|(_, span)| span.1).reduce(f64::max);
    let b = &document.buckets;
    let starts = || b.start_s.iter().filter_map(|s| s.get());
    let (from, to) = from
        .zip(to)
        .map(|(from, to)| (from.floor(), to.ceil()))
        .or_else(|| starts().reduce(f64::min).zip(starts().reduce(f64::max)))
        .unwrap_or((0.0, 1.0));
    (from, to.max(from + 1.0))
}

fn windows(document: &Document) -> Vec<(String, Span)> {
    let of = |window: &Window| {
        let from = window.start_s.get()?;
        let to = from + window.duration_s.get()?;
        (to > from).then(|| (format!("#{}", u64::from(window.index) + 1), (from, to)))
    };
    document.windows.iter().filter_map(of).collect()
}

fn times_in_words((from, to): Span, document: &Document) -> String {
    let windows = document.windows.len();
    let windows = if windows == 1 { "1 window".to_owned() } else { format!("{windows} windows") };
    format!("From {} to {} of the session, {windows}", clock(from), clock(to))
}

fn mark(document: &Document) -> Option<&'static str> {
    document.target.simulated.then_some("SIMULATED")
}

/// Offered, accepted and throttled rates, with the windows, the sustained ceiling and what the service claims.
pub(super) fn rates(document: &Document) -> Picture {
    let (span, b) = (span(document), &document.buckets);
    let levels = ceilings(document, span).into_iter().chain(claim(document, span));
    let levels: Vec<Level> = levels.collect();
    let seconds = MOST_POINTS.map(|most| Seconds::new(b, span, most));
    let mut most = levels.iter().map(|level| level.at).fold(0.0, f64::max);
    let mut told = vec![times_in_words(span, document)];
    let mut keys = Vec::new();
    for (name, ink, column) in
        [("offered", Ink::Offered, &b.offered), ("accepted", Ink::Accepted, &b.accepted), ("throttled", Ink::Throttled, &b.throttled)]
    {
        let highest = top(&seconds[0].rates(column));
        most = most.max(highest.unwrap_or(0.0));
        told.push(format!("{name} at most {}/s", rate(highest)));
        keys.push((ink, name.to_owned()));
    }
    for level in &levels {
        told.extend(level.words.first().cloned());
    }
    if levels.iter().any(|level| level.ink == Ink::Ceiling) {
        keys.push((Ink::Ceiling, "sustained ceiling, in the steady part of each window".to_owned()));
    }
    if levels.iter().any(|level| level.ink == Ink::Claim) {
        keys.push((Ink::Claim, "WarmThroughput, as the service claims".to_owned()));
    }
    let chart = |seconds: &Seconds<'_>| Chart {
        span,
        scale: Scale::Linear,
        values: (0.0, most),
        windows: windows(document),
        series: vec![
            Series { ink: Ink::Throttled, shape: Shape::Area, runs: seconds.rates(&b.throttled) },
            Series { ink: Ink::Offered, shape: Shape::Steps, runs: seconds.rates(&b.offered) },
            Series { ink: Ink::Accepted, shape: Shape::Line, runs: seconds.rates(&b.accepted) },
        ],
        levels: ceilings(document, span).into_iter().chain(claim(document, span)).collect(),
        mark: mark(document),
    };
    Picture {
        id: "rates",
        title: "Rates, requests/s",
        told: told.join("; ") + ".",
        keys,
        joined: [seconds[0].joined, seconds[1].joined],
        charts: [chart(&seconds[0]), chart(&seconds[1])],
    }
}

fn named(sustained: f64) -> Vec<String> {
    let value = format!("{}/s", rate(Some(sustained)));
    vec![format!("sustained {value}"), value]
}

/// The sustained ceiling over the steady part of each window that has one; and the pooled one over all of them. What is pooled is named, else each.
fn ceilings(document: &Document, span: Span) -> Vec<Level> {
    let of = |window: &Window| {
        let (from, length) = (window.start_s.get()?, window.duration_s.get()?);
        let steady = (from + window.steady_from_s.get().unwrap_or(0.0), from + length);
        let at = window.sustained_per_s.get()?;
        // Where windows disagree there is no pooled value to name.
        let words = if document.verdict.sustained_per_s.get().is_none() { named(at) } else { Vec::new() };
        Some(Level { ink: Ink::Ceiling, span: steady, at, words, below: false })
    };
    let mut levels: Vec<Level> = document.windows.iter().filter_map(of).collect();
    if let Some(at) = document.verdict.sustained_per_s.get() {
        let words = named(at);
        levels.push(Level { ink: Ink::Ceiling, span, at, words, below: false });
    }
    levels
}

/// What the service claims that the table takes, in requests of this workload.
fn claim(document: &Document, span: Span) -> Option<Level> {
    use crate::load::Op;
    let warm = document.target.warm_throughput?;
    let op = document.windows.first().map_or(document.workload.op, |window| window.op);
    if document.windows.iter().any(|window| window.op != op) {
        return None;
    }
    let units = match op {
        Op::Write => warm.write_units_per_s,
        Op::Read => warm.read_units_per_s,
    };
    let at = units as f64 / units_per_request(op, document.workload.item_bytes, document.workload.consistent_read);
    let words = vec![format!("WarmThroughput {} {op} units/s", whole(Some(units as f64)))];
    Some(Level { ink: Ink::Claim, span, at, words, below: true })
}

/// Latency of accepted requests.
pub(super) fn latency(document: &Document) -> Picture {
    let (span, b) = (span(document), &document.buckets);
    let seconds = MOST_POINTS.map(|most| Seconds::new(b, span, most));
    let columns = [
        ("service p50", Ink::ServiceP50, &b.p50_ms),
        ("service p99", Ink::ServiceP99, &b.p99_ms),
        ("response p50", Ink::ResponseP50, &b.response_p50_ms),
        ("response p99", Ink::ResponseP99, &b.response_p99_ms),
    ];
    let mut told = vec![times_in_words(span, document)];
    let (mut least, mut most) = (None, None);
    for (name, _, column) in columns {
        let runs: Runs = seconds[0].largest(column);
        let (low, high) = (bottom(&runs), top(&runs));
        told.push(format!("{name} from {} to {} ms", millis(low), millis(high)));
        least = least.into_iter().chain(low).reduce(f64::min);
        most = most.into_iter().chain(high).reduce(f64::max);
    }
    let values = (least.unwrap_or(0.0).max(1e-3), most.unwrap_or(1.0));
    let scale = Scale::of(values.0, values.1);
    if scale == Scale::Logarithmic {
        told.push("the vertical axis is logarithmic".to_owned());
    }
    let chart = |seconds: &Seconds<'_>| Chart {
        span,
        scale,
        values,
        windows: windows(document),
        series: columns
            .iter()
            .rev()
            .map(|(_, ink, column)| Series { ink: *ink, shape: Shape::Line, runs: seconds.largest(column) })
            .collect(),
        levels: Vec::new(),
        mark: mark(document),
    };
    Picture {
        id: "latency",
        title: "Latency of accepted requests, ms",
        told: told.join("; ") + ".",
        keys: columns.iter().map(|(name, ink, _)| (*ink, (*name).to_owned())).collect(),
        joined: [seconds[0].joined, seconds[1].joined],
        charts: [chart(&seconds[0]), chart(&seconds[1])],
    }
}
