//! Steps of a moving ceiling: when the accepted rate of over-driven seconds went from one level to another, within a window
//! or between two.
//!
//! Not every fall is a step. Each window starts on what the table has saved up, and the accepted rate falls as partitions
//! run out one by one. Two things refute that reading of a fall. Savings are bounded: by the 300 s that the service keeps at
//! most, and once the rate has risen by what the table's own burst has shown. And a partition with savings accepts whatever
//! falls on it, with the noise of random arrivals, while an empty one accepts what it refills, almost without noise.

use crate::load::{Keys, Op, Second, Snapshot, Window, WindowId};

use super::assessment::Step;
use super::levels::{Level, SMALLEST, levels, standard_errors};
use super::steady;
use super::window::is_steady_throttling;

/// From this share of intents shed a second says nothing of the service, and what follows starts on fresh savings.
const SHED: f64 = 0.005;
/// The same for requests that failed or timed out.
const UNANSWERED: f64 = 0.02;
/// From this share of answers held over the second's edge, or released after one, a second is left out.
const HELD: f64 = 0.05;
/// As many seconds left out in a row end a stretch.
const HELD_FOR_LONG: u32 = 3;
/// The service keeps at most this many seconds of unused capacity.
const SAVED_AT_MOST_S: f64 = 300.0;
/// Savings beyond what the table has shown are believed up to this factor.
const BELIEVED: f64 = 1.5;
/// A level's noise tells empty partitions from others after this many seconds.
const NOISE_KNOWN_S: f64 = 20.0;
/// Below this share of the least noise that arrivals have, there were no arrivals at random: of 1,000 levels of partitions
/// with savings, fewer than one is that quiet over [`NOISE_KNOWN_S`].
const QUIET: f64 = 0.2;
/// A step is stated from this confidence.
const CONFIDENT: f64 = 0.99;

/// What must be the same for two windows to have one ceiling: the operation, the item size and the keys.
type Kind = (Op, Option<u32>, Option<Keys>);

/// The steps over all windows, in order.
pub(super) fn steps(load: &Snapshot) -> Vec<Step> {
    let mut found = Vec::new();
    let mut walks: Vec<(Kind, Walk)> = Vec::new();
    for window in load.windows.iter().filter(|window| !window.is_adjusting() && window.spec.ramp_to.is_none()) {
        let kind = (window.spec.op, window.spec.item_bytes, window.spec.keys);
        let at = walks.iter().position(|(known, _)| *known == kind).unwrap_or(walks.len());
        if at == walks.len() {
            walks.push((kind, Walk::default()));
        }
        if let Some((_, walk)) = walks.get_mut(at) {
            for stretch in stretches(window) {
                walk.take(&stretch, &mut found);
            }
        }
    }
    found
}

/// Seconds of one window in which the client kept its schedule, from the first that throttled.
struct Stretch {
    window: WindowId,
    rate: f64,
    /// When its load began, seconds of the session, and what was accepted before its first second.
    began_s: f64,
    accepted_before: f64,
    seconds: Vec<Second>,
}

fn stretches(window: &Window) -> Vec<Stretch> {
    let rate = window.spec.rate.per_s();
    let new = |began_s| Stretch { window: window.spec.id, rate, began_s, accepted_before: 0.0, seconds: Vec::new() };
    let mut all = vec![new(window.spec.start.secs())];
    let mut held = 0;
    for second in steady::whole_seconds(window) {
        let counts = &second.counts;
        let offered = counts.offered.max(1) as f64;
        let is_held = counts.open().unsigned_abs() as f64 >= HELD * offered;
        held = if is_held { held + 1 } else { 0 };
        let broken = counts.offered == 0
            || counts.shed as f64 >= SHED * offered
            || (counts.failed + counts.timed_out) as f64 >= UNANSWERED * offered
            || held >= HELD_FOR_LONG;
        if broken {
            all.push(new(second.start.secs() + 1.0));
            continue;
        }
        let Some(stretch) = all.last_mut() else { continue };
        if stretch.seconds.is_empty() && counts.throttled == 0 {
            stretch.accepted_before += counts.accepted as f64;
        } else if !is_held {
            stretch.seconds.push(*second);
        }
    }
    all.retain(|stretch| stretch.seconds.len() >= 3);
    all
}

impl Stretch {
    /// The instant of a place among its seconds, in seconds of the session.
    fn at(&self, place: f64) -> f64 {
        let start = |second: &Second| second.start.secs();
        let (whole, part) = (place.floor(), place.fract());
        self.seconds
            .get(whole as usize)
            .map(|second| start(second) + part)
            .or_else(|| self.seconds.last().map(|last| start(last) + 1.0))
            .unwrap_or(self.began_s)
    }

    fn accepted(&self, to: usize) -> f64 {
        self.accepted_before + self.seconds.iter().take(to).map(|s| s.counts.accepted as f64).sum::<f64>()
    }

    fn throttles(&self, level: &Level) -> bool {
        is_steady_throttling(self.seconds.get(level.core.clone()).unwrap_or_default())
    }

    /// Variance of a second of a level, without the one that is furthest off: the first may hold the last of what was saved.
    fn variance(&self, level: &Level) -> f64 {
        let counts = || self.seconds.get(level.core.clone()).unwrap_or_default().iter().map(|s| s.counts.accepted as f64);
        let off = |count: f64| (count - level.per_s).powi(2);
        let furthest = counts().map(off).fold(0.0, f64::max);
        (counts().map(off).sum::<f64>() - furthest) / (level.length() - 2.0).max(1.0)
    }
}

/// A level that holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    per_s: f64,
    noise: f64,
    /// Seconds that it rests on.
    length: f64,
    variance: f64,
    rate: f64,
    window: WindowId,
    /// When it was last seen, seconds of the session.
    end_s: f64,
    /// For how long it has held, in time under load.
    dwell_s: f64,
    /// Whether the rate had risen to it, so that what was saved before is gone.
    rose: bool,
}

#[derive(Debug, Default)]
struct Walk {
    held: Option<Held>,
    /// The most that the table has shown to have saved, in seconds of its level.
    saved_s: Option<f64>,
}

impl Walk {
    fn take(&mut self, stretch: &Stretch, found: &mut Vec<Step>) {
        let counts: Vec<f64> = stretch.seconds.iter().map(|s| s.counts.accepted as f64).collect();
        let levels = levels(&counts);
        let hold = |level: &Level, dwell_s: f64, rose: bool| Held {
            per_s: level.per_s,
            noise: level.noise,
            length: level.length(),
            variance: stretch.variance(level),
            rate: stretch.rate,
            window: stretch.window,
            end_s: stretch.at(counts.len() as f64),
            dwell_s,
            rose,
        };
        // While the window's savings run out the rate falls; the level is what is left.
        let mut rest = levels.iter().peekable();
        let Some(mut base) = rest.next() else { return };
        while let Some(next) = rest.peek() {
            let falls = next.per_s < base.per_s && self.may_be_savings(&hold(base, base.length(), false), next.per_s);
            if !falls {
                break;
            }
            base = next;
            rest.next();
        }
        if !stretch.throttles(base) {
            return;
        }
        let mut began_s = stretch.at(base.start);
        let mut current = hold(base, 0.0, false);
        let above = stretch.accepted(base.core.start) - base.per_s * (stretch.at(base.core.start as f64) - stretch.began_s);
        if let Some(before) = self.held {
            if let Some(step) = self.between(&before, &current, stretch, base) {
                began_s = stretch.began_s;
                current.rose = step.to_per_s > step.from_per_s;
                found.push(step);
            } else {
                // The level goes on, under load since this stretch began.
                began_s = stretch.began_s - before.dwell_s;
                current.rose = before.rose;
                current.length += if same_rate(before.rate, stretch.rate) { before.length } else { 0.0 };
            }
        }
        self.saved_s = Some(self.saved_s.unwrap_or(0.0).max(above / base.per_s.max(1.0)));

        for level in rest {
            let at_s = stretch.at(level.start);
            let next = hold(level, 0.0, current.rose);
            let rises = next.per_s > current.per_s;
            let dwell_s = at_s - began_s;
            if !rises && self.may_be_savings(&Held { dwell_s, ..current }, next.per_s) {
                // What came with the rise was savings in part; its step is to what is left.
                if let Some(last) = found.last_mut().filter(|last| last.window == stretch.window && last.to_per_s > last.from_per_s) {
                    last.to_per_s = next.per_s;
                    if next.per_s < last.from_per_s * (1.0 + SMALLEST) {
                        found.pop();
                    }
                }
                current = next;
                continue;
            }
            let confidence = confidence(&current, &next, counts.len());
            let is_stated = confidence >= CONFIDENT;
            if is_stated {
                found.push(Step {
                    window: stretch.window,
                    at_s,
                    from_per_s: current.per_s,
                    to_per_s: next.per_s,
                    dwell_s,
                    confidence,
                    between_windows: false,
                });
                began_s = at_s;
            }
            // A rise too small to be stated does not refute that what came before it was savings.
            current = Held { rose: current.rose || (rises && is_stated), ..next };
        }
        self.held = Some(Held { dwell_s: current.end_s - began_s, ..current });
    }

    /// Whether a fall may be that of savings that ran out.
    fn may_be_savings(&self, from: &Held, to_per_s: f64) -> bool {
        let fall = from.per_s - to_per_s;
        let needed_s = fall * from.dwell_s.max(from.length) / to_per_s.max(1.0);
        let known = if from.rose { self.saved_s.map_or(SAVED_AT_MOST_S, |s| s * BELIEVED) } else { SAVED_AT_MOST_S };
        if needed_s > known.min(SAVED_AT_MOST_S) {
            return false;
        }
        // What accepts all that falls on it takes at least the fall and at most everything, at random from all keys.
        let arrivals = |per_s: f64| per_s * (1.0 - per_s / from.rate).max(0.0);
        let least = arrivals(fall).min(arrivals(from.per_s));
        from.length < NOISE_KNOWN_S || from.variance >= QUIET * least
    }

    /// The step that lies between two stretches, as far as neither the offered rate nor what was saved explains it.
    fn between(&self, before: &Held, after: &Held, stretch: &Stretch, base: &Level) -> Option<Step> {
        // The accepted rate never falls when more is offered, nor rises by a larger factor than what is offered.
        let factor = stretch.rate / before.rate;
        let (least, most) = (before.per_s * factor.min(1.0), before.per_s * factor.max(1.0));
        let beyond = if after.per_s > most * (1.0 + SMALLEST) {
            let span_s = stretch.at(base.core.end as f64) - stretch.began_s;
            let above = stretch.accepted(base.core.end) - most * span_s;
            let gap_s = (stretch.began_s - before.end_s).max(0.0);
            let saved_s = self.saved_s.unwrap_or(SAVED_AT_MOST_S) * BELIEVED;
            // What was saved in the pause, or more where partitions are driven that were not before.
            let refilled_s = if stretch.rate > before.rate * (1.0 + SMALLEST) { SAVED_AT_MOST_S } else { gap_s };
            above > after.per_s * saved_s.min(refilled_s) + 2.0 * after.noise
        } else {
            after.per_s < least * (1.0 - SMALLEST) && !self.may_be_savings(before, after.per_s)
        };
        let confidence = confidence(before, after, 1);
        (beyond && confidence >= CONFIDENT).then(|| Step {
            window: stretch.window,
            at_s: stretch.began_s,
            from_per_s: before.per_s,
            to_per_s: after.per_s,
            dwell_s: before.dwell_s,
            confidence,
            between_windows: before.window != stretch.window,
        })
    }
}

fn same_rate(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.max(b)
}

/// The noise of a level: as it was seen, and while few seconds have shown it, no less than that of random arrivals.
fn noise(level: &Held) -> f64 {
    if level.length >= NOISE_KNOWN_S {
        return level.noise;
    }
    level.noise.max((level.per_s * (1.0 - level.per_s / level.rate).max(0.0)).sqrt())
}

/// One less the chance that noise alone shows such a change somewhere in so many seconds: the normal distribution's tail,
/// rounded up, once per second.
fn confidence(a: &Held, b: &Held, seconds: usize) -> f64 {
    let z = standard_errors((a.per_s, noise(a), a.length), (b.per_s, noise(b), b.length));
    let tail = (-z * z / 2.0).exp() * (2.0 / std::f64::consts::PI).sqrt() / z.max(1.0);
    (1.0 - tail * seconds.max(1) as f64).clamp(0.0, 1.0)
}
