//! Window by window: which window of one session answers to which of the other, and how their figures compare.

use serde::Serialize;

use crate::analysis::{VerdictKind, degrees};
use crate::load::{Latency, Op};

use super::super::document::{Document, Window};
use super::super::finite::Finite;
use super::statistics::{ALPHA, Measured, SMALLEST_SHARE, p_of_difference, quantile};

/// What makes windows of two sessions the same one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowName {
    /// Its place in its session, from 1.
    pub number: u32,
    /// Its label.
    pub label: String,
    /// Its operation.
    pub op: Op,
    /// Its offered rate, operations/s; of a ramp, the rate it starts with; null where it consists of several.
    pub offered_per_s: Finite,
    /// The rate it ends with, of a ramp.
    pub offered_to_per_s: Finite,
}

impl WindowName {
    pub(super) fn of(window: &Window) -> Self {
        Self {
            number: window.index + 1,
            label: window.label.clone(),
            op: window.op,
            offered_per_s: window.offered_per_s,
            offered_to_per_s: window.offered_to_per_s,
        }
    }

    pub(super) fn is_the_same(&self, other: &Self) -> bool {
        let offered = self.offered_per_s.get();
        let rates = (self.offered_per_s, self.offered_to_per_s) == (other.offered_per_s, other.offered_to_per_s);
        offered.is_some() && rates && self.label == other.label && self.op == other.op
    }
}

/// What is said about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Significant, and at least 0.5 %.
    Differs,
    /// Not significant, or below 0.5 %.
    NoDifference,
    /// A figure without an interval, or one that something forbids to compare.
    NotComparable,
    /// One side has none.
    NoData,
}

/// One side of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Value {
    /// The value.
    pub value: Finite,
    /// Its 95 % interval, where it has one.
    pub ci95: Option<[Finite; 2]>,
}

/// A figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What it is.
    pub what: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// In the base.
    pub base: Option<Value>,
    /// In the other.
    pub new: Option<Value>,
    /// How much larger the other is, as a share of the base.
    pub difference: Finite,
    /// What is said about it.
    pub judgement: Judgement,
    /// How likely such a difference is by chance, taken alone; null where it was not tested.
    pub p: Finite,
    /// The same, given how many differences are asked about at once.
    pub p_of_all: Finite,
    #[serde(skip)]
    pub(super) tested: Option<f64>,
}

impl Figure {
    /// A figure that has intervals, and is tested unless something forbids it.
    pub(super) fn tested(what: &'static str, unit: &'static str, base: Option<Measured>, new: Option<Measured>, allowed: bool) -> Self {
        let of = |m: Measured| Value { value: m.value.into(), ci95: Some([m.low.into(), m.high.into()]) };
        let tested = base.zip(new).filter(|_| allowed).map(|(base, new)| p_of_difference(&base, &new));
        Self { tested, p: tested.into(), ..Self::shown(what, unit, base.map(of), new.map(of)) }
    }

    /// A figure without an interval: shown, never called.
    pub(super) fn plain(what: &'static str, unit: &'static str, base: Finite, new: Finite) -> Self {
        let of = |value: Finite| value.get().map(|_| Value { value, ci95: None });
        Self::shown(what, unit, of(base), of(new))
    }

    fn shown(what: &'static str, unit: &'static str, base: Option<Value>, new: Option<Value>) -> Self {
        let pair = base.and_then(|v| v.value.get()).zip(new.and_then(|v| v.value.get()));
        let difference = pair.filter(|(base, _)| *base != 0.0).map(|(base, new)| (new - base) / base);
        let judgement = if pair.is_some() { Judgement::NotComparable } else { Judgement::NoData };
        Self { what, unit, base, new, difference: difference.into(), judgement, p: Finite::NULL, p_of_all: Finite::NULL, tested: None }
    }

    /// Whether there is nothing to show.
    pub(super) const fn is_empty(&self) -> bool {
        self.base.is_none() && self.new.is_none()
    }

    /// Says what the test says, as one of all that were made.
    pub(super) fn judge(&mut self, p_of_all: f64) {
        self.p_of_all = p_of_all.into();
        let large = self.difference.get().is_none_or(|share| share.abs() >= SMALLEST_SHARE);
        self.judgement = if p_of_all < ALPHA && large { Judgement::Differs } else { Judgement::NoDifference };
    }
}

/// Two windows that answer to each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowPair {
    /// In the base.
    pub base: WindowName,
    /// In the other.
    pub new: WindowName,
    /// Their figures.
    pub figures: Vec<Figure>,
    /// Why its differences are not called.
    pub not_called: Option<String>,
}

/// The windows that answer to each other, in order, and those that have none.
pub(super) fn matched<'a>(base: &'a Document, new: &'a Document) -> (Vec<(&'a Window, &'a Window)>, Vec<&'a Window>, Vec<&'a Window>) {
    let mut free: Vec<&Window> = new.windows.iter().collect();
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for window in &base.windows {
        let name = WindowName::of(window);
        match free.iter().position(|other| name.is_the_same(&WindowName::of(other))) {
            Some(at) => pairs.push((window, free.remove(at))),
            None => alone.push(window),
        }
    }
    (pairs, alone, free)
}

/// Compares two windows. `forbidden` says why nothing may be called.
pub(super) fn pair(base: (&Document, &Window), new: (&Document, &Window), forbidden: Option<&str>) -> WindowPair {
    let (a, b) = (base.1, new.1);
    let client_bound = |w: &Window| w.verdict == VerdictKind::ClientBound;
    let not_called = match (forbidden, client_bound(a), client_bound(b)) {
        (Some(why), ..) => Some(why.to_owned()),
        (None, true, true) => Some("the client fell short on both sides".to_owned()),
        (None, true, false) => Some("the client of BASE fell short".to_owned()),
        (None, false, true) => Some("the client of NEW fell short".to_owned()),
        (None, false, false) => None,
    };
    let allowed = not_called.is_none();
    let mut figures = vec![
        Figure::plain("accepted", "/s", a.accepted_per_s, b.accepted_per_s),
        Figure::tested("sustained", "/s", sustained(a), sustained(b), allowed),
        Figure::plain("burst", "units", a.burst_units, b.burst_units),
        Figure::plain("first throttle", "s", a.first_throttle_s, b.first_throttle_s),
    ];
    for percentile in [Percentile::ServiceP50, Percentile::ServiceP99, Percentile::ResponseP50, Percentile::ResponseP99] {
        figures.push(percentile.compared(base, new, allowed));
    }
    figures.retain(|figure| !figure.is_empty());
    WindowPair { base: WindowName::of(a), new: WindowName::of(b), figures, not_called }
}

/// A window's saturated ceiling with its interval.
pub(super) fn sustained(window: &Window) -> Option<Measured> {
    let [low, high] = window.sustained_ci95_per_s?;
    let steady = window.duration_s.get()? - window.steady_from_s.get().unwrap_or(0.0);
    Some(Measured {
        value: window.sustained_per_s.get()?,
        low: low.get()?,
        high: high.get()?,
        degrees: degrees(steady.max(0.0) as usize) as f64,
    })
}

/// A percentile of accepted requests.
#[derive(Clone, Copy)]
enum Percentile {
    ServiceP50,
    ServiceP99,
    ResponseP50,
    ResponseP99,
}

impl Percentile {
    fn compared(self, base: (&Document, &Window), new: (&Document, &Window), allowed: bool) -> Figure {
        let what = match self {
            Self::ServiceP50 => "p50 service",
            Self::ServiceP99 => "p99 service",
            Self::ResponseP50 => "p50 response",
            Self::ResponseP99 => "p99 response",
        };
        let (a, b) = (self.measured(base.0, base.1), self.measured(new.0, new.1));
        // A quantile that too few values bound is shown without an interval, and so never called.
        if a.is_none() || b.is_none() {
            Figure::plain(what, "ms", self.stated(base.1), self.stated(new.1))
        } else {
            Figure::tested(what, "ms", a, b, allowed)
        }
    }

    fn stated(self, window: &Window) -> Finite {
        let accepted = &window.latency_ms.accepted;
        match self {
            Self::ServiceP50 => accepted.service.p50,
            Self::ServiceP99 => accepted.service.p99,
            Self::ResponseP50 => accepted.response.p50,
            Self::ResponseP99 => accepted.response.p99,
        }
    }

    fn measured(self, document: &Document, window: &Window) -> Option<Measured> {
        let (histograms, buckets) = (&window.histograms_v2_base64, &document.buckets);
        let (histogram, q, seconds) = match self {
            Self::ServiceP50 => (&histograms.service_accepted, 0.50, &buckets.p50_ms),
            Self::ServiceP99 => (&histograms.service_accepted, 0.99, &buckets.p99_ms),
            Self::ResponseP50 => (&histograms.response_accepted, 0.50, &buckets.response_p50_ms),
            Self::ResponseP99 => (&histograms.response_accepted, 0.99, &buckets.response_p99_ms),
        };
        let latency = Latency::from_base64(histogram.as_deref()?, 0).ok()?;
        // The seconds of mixed load speak of both its windows.
        let alone = |of: &Option<u32>| window.beside.is_none() && *of == Some(window.index);
        let of_window = buckets.window.iter().zip(&buckets.span_s).zip(seconds);
        let by_second: Vec<f64> =
            of_window.filter(|((of, span), _)| alone(of) && **span == 1).filter_map(|(_, value)| value.get()).collect();
        quantile(&latency, q, &by_second)
    }
}
