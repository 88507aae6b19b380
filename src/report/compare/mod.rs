//! Sessions beside each other: what differs, whether that is significant, which limit each met, and how far tables that were
//! treated alike lie apart.

mod markdown;
mod setup;
mod spread;
mod statistics;
mod text;
mod verdict;
mod windows;

use serde::Serialize;

use crate::analysis::VerdictKind;

use self::setup::incomparable;
use self::statistics::{Measured, holm};
use super::document::{Document, Window};

pub use markdown::markdown;
pub use setup::{Difference, Fact, Limit, Setup, Side};
pub use spread::{Spread, SpreadFigure, WindowSpread, spreads};
pub use text::{spread_text, text};
pub use windows::{Figure, Judgement, Value, WindowName, WindowPair};

/// Name and version of the layout.
pub const COMPARISON_SCHEMA: &str = "throttlescope.comparison/1";
/// Fewer tables than this have no spread worth a table of its own beside their difference.
const FEWEST_TABLES: usize = 3;

/// Sessions beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: &'static str,
    /// What the others are compared with.
    pub base: Setup,
    /// The others.
    pub against: Vec<Against>,
    /// The spread between tables that were treated alike, from three sessions up.
    pub spread: Vec<Spread>,
    /// Differences that were tested, all of them at once.
    pub tests: usize,
    /// How, in a sentence.
    pub method: String,
}

/// One session against the base.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// What it was set up to do.
    pub new: Setup,
    /// In what the two set-ups differ.
    pub differs: Vec<Difference>,
    /// Why no difference may be called; empty when nothing forbids it.
    pub incomparable: Vec<String>,
    /// The verdict in words.
    pub verdict: Vec<String>,
    /// The saturated ceilings of the two sessions; null where neither has one.
    pub sustained: Option<Figure>,
    /// Windows that answer to each other.
    pub windows: Vec<WindowPair>,
    /// Windows of the base that the other has not.
    pub only_in_base: Vec<WindowName>,
    /// Windows of the other that the base has not.
    pub only_in_new: Vec<WindowName>,
}

/// Compares each of `others` with `base`.
pub fn compare(base: &Side<'_>, others: &[Side<'_>]) -> Comparison {
    let mut against: Vec<Against> = others.iter().map(|new| one(base, new)).collect();
    let tests = judge(&mut against);
    let setup = Setup::of(base);
    for (one, new) in against.iter_mut().zip(others) {
        one.verdict = verdict::sentences(one, &setup.limits, base.document, new.document);
    }
    let sides: Vec<Side<'_>> = std::iter::once(*base).chain(others.iter().copied()).collect();
    Comparison {
        schema: COMPARISON_SCHEMA,
        base: setup,
        spread: spreads(&sides, FEWEST_TABLES),
        against,
        tests,
        method: format!(
            "A difference is called when it is at least 0.5 % and significant: {tests} were tested at once, with Holm's correction, so that \
             the chance of calling any where there is none is 5 %. Ceilings by Welch's test from their 95 % intervals; percentiles \
             by the binomial intervals of their order statistics, no narrower than the seconds of a window disagree by. Each \
             interval speaks of one table."
        ),
    }
}

fn one(base: &Side<'_>, new: &Side<'_>) -> Against {
    let (ours, theirs) = (base.document, new.document);
    let mut why_not = incomparable(ours, theirs);
    let (pairs, only_in_base, only_in_new) = windows::matched(ours, theirs);
    let forbidden = (!why_not.is_empty()).then(|| why_not.join("; "));
    let windows: Vec<WindowPair> = pairs.iter().map(|(a, b)| windows::pair((ours, a), (theirs, b), forbidden.as_deref())).collect();
    // A ceiling that a client may have set is no ceiling of the table's.
    for (who, document) in [("BASE", ours), ("NEW", theirs)] {
        let short = document.windows.iter().filter(|w| w.verdict == VerdictKind::ClientBound).count();
        if short > 0 {
            why_not.push(format!("the client of {who} fell short in {short} of {} windows", document.windows.len()));
        }
    }
    let sustained = Figure::tested("sustained", "/s", pooled(ours), pooled(theirs), why_not.is_empty());
    let (base, new) = (Setup::of(base), Setup::of(new));
    Against {
        differs: base.differences(&new),
        new,
        incomparable: why_not,
        verdict: Vec::new(),
        sustained: Some(sustained).filter(|figure| !figure.is_empty()),
        windows,
        only_in_base: only_in_base.into_iter().map(WindowName::of).collect(),
        only_in_new: only_in_new.into_iter().map(WindowName::of).collect(),
    }
}

/// Judges everything that was tested, as one family. Returns how many tests that were.
fn judge(against: &mut [Against]) -> usize {
    let mut tested: Vec<&mut Figure> = against
        .iter_mut()
        .flat_map(|one| one.sustained.iter_mut().chain(one.windows.iter_mut().flat_map(|pair| &mut pair.figures)))
        .filter(|figure| figure.tested.is_some())
        .collect();
    let alone: Vec<f64> = tested.iter().filter_map(|figure| figure.tested).collect();
    for (figure, p_of_all) in tested.iter_mut().zip(holm(&alone)) {
        figure.judge(p_of_all);
    }
    alone.len()
}

/// A session's saturated ceiling. Its windows share the interval; the shortest of them says on how much it rests at least.
fn pooled(document: &Document) -> Option<Measured> {
    let verdict = &document.verdict;
    let [low, high] = verdict.ci95_per_s?;
    let of_windows = document.windows.iter().filter_map(|w: &Window| windows::sustained(w)).map(|m| m.degrees);
    let degrees = of_windows.fold(f64::INFINITY, f64::min);
    Some(Measured { value: verdict.sustained_per_s.get()?, low: low.get()?, high: high.get()?, degrees })
}
