//! The one table of names: what can be named, in which unit, and where it stands in the document.

use std::fmt;

use crate::analysis::VerdictKind;

use super::super::document::{BothLatencies, Document, Figures, Window};
use super::super::finite::Finite;

/// Kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number.
    Number,
    /// A condition.
    Truth,
    /// Whose limit.
    Word,
}

impl Kind {
    pub(super) const fn in_words(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Truth => "a condition",
            Self::Word => "a verdict",
        }
    }
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// A number.
    Number(f64),
    /// A condition.
    Truth(bool),
    /// Whose limit.
    Word(VerdictKind),
}

/// A figure or fact that has a name.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub(super) name: &'static str,
    kind: Kind,
    about: &'static str,
    read: Read,
}

#[derive(Clone, Copy, Debug)]
enum Read {
    Session(fn(&Document) -> Option<Value>),
    Window(fn(&Window) -> Option<Value>),
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && matches!(self.read, Read::Session(_)) == matches!(other.read, Read::Session(_))
    }
}

impl Field {
    /// Its value in a session; `None` for one of a window.
    pub(super) fn of_session(&self, document: &Document) -> Option<Value> {
        if let Read::Session(read) = self.read { read(document) } else { None }
    }

    /// Its value in a window; `None` for one of a session.
    pub(super) fn of_window(&self, window: &Window) -> Option<Value> {
        if let Read::Window(read) = self.read { read(window) } else { None }
    }
}

fn number(finite: Finite) -> Option<Value> {
    finite.get().map(Value::Number)
}

#[expect(clippy::unnecessary_wraps, reason = "the table's other readers may have nothing")]
fn count(n: u64) -> Option<Value> {
    Some(Value::Number(n as f64))
}

fn end(interval: Option<[Finite; 2]>, which: usize) -> Option<Value> {
    number(interval?[which])
}

const fn session(name: &'static str, about: &'static str, read: fn(&Document) -> Option<Value>) -> Field {
    Field { name, kind: Kind::Number, about, read: Read::Session(read) }
}

const fn window(name: &'static str, about: &'static str, read: fn(&Window) -> Option<Value>) -> Field {
    Field { name, kind: Kind::Number, about, read: Read::Window(read) }
}

const SESSION: &[Field] = &[
    Field { kind: Kind::Word, ..session("verdict", "Whose limit was met", |d| Some(Value::Word(d.verdict.kind))) },
    session("sustained_per_s", "Saturated ceiling of the session's verdict, requests/s", |d| number(d.verdict.sustained_per_s)),
    session("sustained_low_per_s", "Lower end of its 95 % interval, requests/s", |d| end(d.verdict.ci95_per_s, 0)),
    session("sustained_high_per_s", "Upper end of its 95 % interval, requests/s", |d| end(d.verdict.ci95_per_s, 1)),
    session("clean_at_least_per_s", "Highest steady offered rate at which nothing was throttled, requests/s", |d| {
        number(d.verdict.clean_at_least_per_s)
    }),
    session("clean_ceiling_low_per_s", "Lower end of the bracket of the clean ceiling, requests/s", |d| {
        end(d.verdict.clean_ceiling_per_s, 0)
    }),
    session("clean_ceiling_high_per_s", "Upper end of the bracket of the clean ceiling, requests/s", |d| {
        end(d.verdict.clean_ceiling_per_s, 1)
    }),
    session("sustained_units_per_s", "Saturated ceiling in capacity units/s", |d| number(d.verdict.sustained_units_per_s)),
    session("steps", "Steps of the ceiling that were found; no data where none could be: nothing was over-driven", |d| {
        number(d.verdict.sustained_per_s).and(count(d.steps.len() as u64))
    }),
    session("clean_below_per_s", "Lowest offered rate that showed steady throttling, requests/s", |d| number(d.verdict.clean_below_per_s)),
    session("burst_units", "Units accepted above the ceiling before steady throttling", |d| number(d.verdict.burst_units)),
    session("cost_usd", "What it cost, USD; no data where the price is not known", |d| number(d.totals.cost_usd)),
    session("time_to_active_s", "CreateTable to ACTIVE, seconds", |d| number(d.target.time_to_active_s)),
    session("active_to_first_accepted_s", "ACTIVE to the first accepted request, seconds", |d| number(d.target.active_to_first_accepted_s)),
    session("elapsed_s", "Length of the session, seconds", |d| number(d.session.elapsed_s)),
    Field {
        kind: Kind::Truth,
        ..session("simulated", "Whether the simulated endpoint answered", |d| Some(Value::Truth(d.target.simulated)))
    },
    session("totals.offered", "Intents that came due", |d| count(d.totals.counts.offered)),
    session("totals.sent", "Those that were sent", |d| count(d.totals.counts.sent)),
    session("totals.accepted", "Requests answered with success", |d| count(d.totals.counts.accepted)),
    session("totals.throttled", "Requests refused for capacity", |d| count(d.totals.counts.throttled)),
    session("totals.failed", "Requests that failed otherwise", |d| count(d.totals.counts.failed)),
    session("totals.timed_out", "Requests without an answer in time", |d| count(d.totals.counts.timed_out)),
    session("totals.shed", "Intents that the client did not send", |d| count(d.totals.counts.shed)),
    session("totals.in_flight", "Requests without an outcome", |d| count(d.totals.counts.in_flight)),
    session("totals.consumed_units", "Capacity that the service said was consumed, units", |d| number(d.totals.consumed_units)),
];

const WINDOW: &[Field] = &[
    Field { kind: Kind::Word, ..window("verdict", "Whose limit was met", |w| Some(Value::Word(w.verdict))) },
    window("offered_per_s", "Offered rate, operations/s; of a ramp, the rate it starts with", |w| number(w.offered_per_s)),
    window("offered_to_per_s", "The rate it ends with, of a ramp, operations/s", |w| number(w.offered_to_per_s)),
    window("duration_s", "Length, seconds", |w| number(w.duration_s)),
    window("accepted_per_s", "Mean accepted rate over all of it, requests/s", |w| number(w.accepted_per_s)),
    window("sustained_per_s", "Saturated ceiling, requests/s", |w| number(w.sustained_per_s)),
    window("sustained_low_per_s", "Lower end of its 95 % interval, requests/s", |w| end(w.sustained_ci95_per_s, 0)),
    window("sustained_high_per_s", "Upper end of its 95 % interval, requests/s", |w| end(w.sustained_ci95_per_s, 1)),
    window("steady_from_s", "Start of the steady part, seconds from the window's start", |w| number(w.steady_from_s)),
    window("burst_units", "Units accepted above the ceiling", |w| number(w.burst_units)),
    window("first_throttle_s", "First throttle, seconds from the window's start; no data where there was none", |w| {
        number(w.first_throttle_s)
    }),
    window("offered", "Intents that came due", |w| count(w.counts.offered)),
    window("sent", "Those that were sent", |w| count(w.counts.sent)),
    window("accepted", "Requests answered with success", |w| count(w.counts.accepted)),
    window("throttled", "Requests refused for capacity", |w| count(w.counts.throttled)),
    window("failed", "Requests that failed otherwise", |w| count(w.counts.failed)),
    window("timed_out", "Requests without an answer in time", |w| count(w.counts.timed_out)),
    window("shed", "Intents that the client did not send", |w| count(w.counts.shed)),
    window("in_flight", "Requests without an outcome", |w| count(w.counts.in_flight)),
    window("consumed_units", "Capacity that the service said was consumed, units", |w| number(w.consumed_units)),
    window("in_flight_max", "Most requests in flight", |w| count(u64::from(w.client.in_flight_max))),
    window("schedule_error_p99_ms", "99th percentile of how late requests were sent, milliseconds", |w| {
        number(w.client.schedule_error_ms.p99)
    }),
];

/// Of which requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Accepted,
    Throttled,
    All,
}

/// From when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    Response,
    Service,
}

type FigureOf = (&'static str, fn(&Figures) -> Finite);

const FIGURES: &[FigureOf] =
    &[("p50_ms", |f| f.p50), ("p90_ms", |f| f.p90), ("p99_ms", |f| f.p99), ("p999_ms", |f| f.p999), ("max_ms", |f| f.max)];

/// A figure of latency: of which requests, from when on, which percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyName {
    of: Of,
    since: Since,
    /// Its place in [`FIGURES`].
    figure: usize,
}

impl LatencyName {
    fn read(name: &str) -> Option<Self> {
        let mut parts: Vec<&str> = name.split('.').collect();
        let figure = parts.pop()?;
        let figure = FIGURES.iter().position(|(known, _)| *known == figure)?;
        let of = match parts.first() {
            Some(&"accepted") => Some(Of::Accepted),
            Some(&"throttled") => Some(Of::Throttled),
            Some(&"all") => Some(Of::All),
            _ => None,
        };
        let parts = if of.is_some() { &parts[1..] } else { &parts[..] };
        let since = match parts {
            [] | ["response"] => Since::Response,
            ["service"] => Since::Service,
            _ => return None,
        };
        Some(Self { of: of.unwrap_or(Of::Accepted), since, figure })
    }

    /// Its value in a window, milliseconds.
    pub(super) fn of_window(self, window: &Window) -> Option<f64> {
        let both: &BothLatencies = match self.of {
            Of::Accepted => &window.latency_ms.accepted,
            Of::Throttled => &window.latency_ms.throttled,
            Of::All => &window.latency_ms.all,
        };
        let figures = match self.since {
            Since::Response => &both.response,
            Since::Service => &both.service,
        };
        let (_, read) = FIGURES.get(self.figure)?;
        read(figures).get()
    }

    /// Whether a window that sent requests must show it, or else nothing is known of the worst one.
    pub(super) const fn must_show(self, window: &Window) -> bool {
        match self.of {
            Of::Throttled => window.counts.throttled > 0,
            Of::Accepted | Of::All => window.counts.offered > 0,
        }
    }
}

impl fmt::Display for LatencyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.of {
            Of::Accepted => "",
            Of::Throttled => "throttled.",
            Of::All => "all.",
        })?;
        f.write_str(match self.since {
            Since::Response => "",
            Since::Service => "service.",
        })?;
        f.write_str(FIGURES.get(self.figure).map_or("", |(name, _)| name))
    }
}

/// What a name ends in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leaf {
    /// A figure or fact.
    Field(Field),
    /// A latency.
    Latency(LatencyName),
}

impl Leaf {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Field(field) => field.kind,
            Self::Latency(_) => Kind::Number,
        }
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(field) => f.write_str(field.name),
            Self::Latency(latency) => write!(f, "{latency}"),
        }
    }
}

const fn table(of_window: bool) -> &'static [Field] {
    if of_window { WINDOW } else { SESSION }
}

/// What has this name, of a window or of the session.
pub(super) fn find(name: &str, of_window: bool) -> Option<Leaf> {
    let field = table(of_window).iter().find(|field| field.name == name);
    field.copied().map(Leaf::Field).or_else(|| LatencyName::read(name).map(Leaf::Latency))
}

/// Every name that there is, of a window or of the session.
pub fn names(of_window: bool) -> Vec<String> {
    let mut names: Vec<String> = table(of_window).iter().map(|field| field.name.to_owned()).collect();
    for of in ["", "accepted.", "throttled.", "all."] {
        for since in ["", "response.", "service."] {
            names.extend(FIGURES.iter().map(|(figure, _)| format!("{of}{since}{figure}")));
        }
    }
    names
}

/// What to type instead of a name that there is not.
pub(super) fn hint(name: &str, of_window: bool) -> String {
    if find(name, !of_window).is_some() {
        return if of_window {
            format!("`{name}` is a figure of the session; type it without window[...]")
        } else {
            format!("`{name}` is a figure of a window; type for example window[last].{name} or window[\"5,000/s\"].{name}")
        };
    }
    let known = names(of_window);
    let near = known.iter().map(|known| (strsim::jaro_winkler(name, known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
    let meant = near.filter(|(likeness, _)| *likeness > 0.8).map_or_else(String::new, |(_, known)| format!("; did you mean {known}?"));
    let fields: Vec<&str> = table(of_window).iter().map(|field| field.name).collect();
    format!(
        "there is no `{name}`{meant}\nNames are {}; and latencies of accepted requests {}, each also as service.p99_ms, throttled.p99_ms, all.p99_ms.",
        fields.join(", "),
        FIGURES.iter().map(|(figure, _)| *figure).collect::<Vec<_>>().join(", ")
    )
}

/// The table of names for the documentation.
pub fn names_markdown() -> String {
    let mut page = String::new();
    for (title, fields) in [("Of the session", SESSION), ("Of a window, behind `window[...].`", WINDOW)] {
        page.push_str(&format!("\n| {title} | what it is |\n|---|---|\n"));
        for field in fields {
            page.push_str(&format!("| `{}` | {} |\n", field.name, field.about));
        }
    }
    page.push_str("\n| Latency, of the session or of a window | what it is |\n|---|---|\n");
    let words = ["Median", "90th percentile", "99th percentile", "99.9th percentile", "Largest"];
    for ((name, _), words) in FIGURES.iter().zip(words) {
        page.push_str(&format!("| `{name}` | {words}, milliseconds |\n"));
    }
    page
}
