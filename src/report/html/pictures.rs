//! The two charts of the page: what they show, their keys, and their text alternatives.

use crate::load::Op;

use super::super::document::{Document, UnitsPerS, Window};
use super::super::figures::{clock, millis, rate, whole};
use super::super::sheet::units_each;
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

/// The spans of windows; the two parts of mixed load are one.
fn windows(document: &Document) -> Vec<(String, Span)> {
    let of = |window: &Window| {
        let from = window.start_s.get()?;
        let to = from + window.duration_s.get()?;
        let number = u64::from(window.index) + 1;
        let name = match window.beside {
            Some(other) if other < window.index => return None,
            Some(other) => format!("#{number}+{}", u64::from(other) + 1),
            None => format!("#{number}"),
        };
        (to > from).then_some((name, (from, to)))
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

/// What the service claims that the table takes, in requests of this workload, as it changed; nothing where operations or
/// items are mixed, for then a request has no one size.
fn claim(document: &Document, span: Span) -> Vec<Level> {
    let Some(first) = document.windows.first() else { return Vec::new() };
    let each = units_each(document, first);
    let alike = |window: &Window| window.op == first.op && (units_each(document, window) / each - 1.0).abs() < 0.01;
    if !document.windows.iter().all(alike) {
        return Vec::new();
    }
    let mut said: Vec<(f64, UnitsPerS)> =
        document.target.claims.iter().filter_map(|claim| Some((claim.at_s.get()?, claim.warm_throughput?))).collect();
    if said.is_empty() {
        said.extend(document.target.warm_throughput.map(|units| (span.0, units)));
    }
    let mut levels: Vec<Level> = Vec::new();
    for (at, (from, units)) in said.iter().enumerate() {
        let until = said.get(at + 1).map_or(span.1, |(next, _)| *next);
        let units = match first.op {
            Op::Write => units.write_units_per_s,
            Op::Read => units.read_units_per_s,
        } as f64;
        let (level, span) = (units / each, (from.max(span.0), until.min(span.1)));
        match levels.last_mut() {
            Some(last) if (last.at - level).abs() < 1e-9 => last.span.1 = span.1,
            _ if span.0 < span.1 => {
                let value = format!("{} {} units/s", whole(Some(units)), first.op);
                let words = vec![format!("WarmThroughput {value}"), value];
                levels.push(Level { ink: Ink::Claim, span, at: level, words, below: true });
            }
            _ => {}
        }
    }
    levels
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
