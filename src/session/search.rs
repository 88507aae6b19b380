//! What a plan decides while it runs: when a window has shown enough, and which window its search offers next.

use tokio::time::Instant;

use super::drive::Driven;
use super::steering::PlanRun;
use super::supervisor::{Session, Stopped};
use crate::analysis::{Assessment, Caveat};
use crate::load::{Offset, Window, WindowId};
use crate::plan::{Next, Search, SearchEnd, Shown, Tried, Until, show_span};
use crate::report::{EventKind, Recording};

impl Session {
    /// Ends the plan's window early if it has shown what it was to show.
    pub(super) fn end_if_shown(&mut self, driven: &mut Driven) -> Result<(), Stopped> {
        let Some((until, windows)) = driven.steering.running().and_then(PlanRun::until) else { return Ok(()) };
        let recording = self.scribe.recording();
        let Some(why) = windows.iter().find_map(|id| met(until, *id, &recording)) else { return Ok(()) };
        let steps = driven.steering.end_early(self.clock.now(), &why);
        self.carry_out(driven, steps)
    }

    /// Notes that the search is to decide, once every request of the last window has ended.
    pub(super) fn ask_search(&self, driven: &mut Driven) {
        driven.search_by = Some(Instant::now() + self.config.timeout + super::drive::DRAIN_MARGIN);
    }

    /// Decides on the search's next window, if one is asked for and all is known that there is to know.
    pub(super) fn decide_search(&mut self, driven: &mut Driven) -> Result<(), Stopped> {
        let Some(bound) = driven.search_by else { return Ok(()) };
        let Some(run) = driven.steering.running() else {
            driven.search_by = None;
            return Ok(());
        };
        let recording = self.scribe.recording();
        let known = run.offered().last().is_none_or(|(_, id, _)| is_complete(id, &recording));
        if !known && Instant::now() < bound {
            return Ok(());
        }
        driven.search_by = None;
        let plan = run.plan();
        let (Some(search), Some(first)) = (plan.search, plan.windows.first().cloned()) else { return Ok(()) };
        let tried = tried(run, &recording);
        match search.next(&first, &tried) {
            Next::Try(window) => {
                let said = format!("the search goes on: {}/s for at most {}", window.rate, show_span(window.length));
                self.scribe.event(EventKind::Note, said);
                let at = driven.engine.soonest();
                let steps = driven.steering.search_goes_on(*window, at);
                self.carry_out(driven, steps)
            }
            Next::End(end) => {
                self.scribe.event(EventKind::Note, in_words(&search, end, &tried));
                driven.steering.search_is_over();
                Ok(())
            }
        }
    }
}

/// Why a window may end, if what ends it has come.
fn met(until: Until, id: WindowId, recording: &Recording) -> Option<String> {
    let (window, assessment) = find(id, recording)?;
    let counted_to = window.seconds.last()?.start.plus(crate::load::BUCKET);
    match until {
        Until::FirstThrottle(more) => {
            let first = window.first_throttled_sent?;
            (counted_to.since(first) >= more).then(|| format!("{} after its first throttle", show_span(round(counted_to.since(first)))))
        }
        Until::Sustained(span) => {
            assessment.sustained?;
            let from = window.spec.start.plus(std::time::Duration::from_secs_f64(assessment.steady_from_s?.max(0.0)));
            (counted_to.since(from) >= span).then(|| format!("its ceiling was sustained for {}", show_span(round(counted_to.since(from)))))
        }
    }
}

fn round(span: std::time::Duration) -> std::time::Duration {
    std::time::Duration::from_secs(span.as_secs())
}

fn find(id: WindowId, recording: &Recording) -> Option<(&Window, &Assessment)> {
    let window = recording.load.windows.iter().rev().find(|window| window.spec.id == id)?;
    let assessment = recording.assessment.windows.iter().rev().find(|assessment| assessment.window == id)?;
    Some((window, assessment))
}

/// Whether a window has ended, its last second is counted and none of its requests is open.
fn is_complete(id: WindowId, recording: &Recording) -> bool {
    let counted_to = recording.load.rows.last().map_or(Offset::ZERO, |row| row.start.plus(crate::load::BUCKET));
    find(id, recording).is_some_and(|(window, _)| window.end.is_some_and(|end| end < counted_to) && window.counts.open() <= 0)
}

fn tried(run: &PlanRun, recording: &Recording) -> Vec<Tried> {
    run.offered()
        .map(|(planned, id, length)| {
            let shown = find(id, recording).map_or(Shown::Unclear, |(window, assessment)| shown(window, assessment));
            Tried { rate: planned.rate, length, pause: planned.pause, shown }
        })
        .collect()
}

fn shown(window: &Window, assessment: &Assessment) -> Shown {
    let short = |caveat: &Caveat| matches!(caveat, Caveat::ClientSaturated | Caveat::Gap | Caveat::TargetSaturated);
    let counts = &window.counts;
    // From half a percent on, what failed or never came may have been what mattered.
    let lost = (counts.failed + counts.timed_out) as f64 >= 0.005 * counts.offered.max(1) as f64;
    if counts.throttled > 0 && assessment.sustained.is_some() {
        let units = window.units_per_request().unwrap_or(1.0);
        return Shown::Throttled {
            sustained_per_s: assessment.sustained.map(|estimate| estimate.per_s),
            burst: assessment.burst_units.map(|burst| burst / units.max(f64::MIN_POSITIVE)),
        };
    }
    if assessment.verdict.caveats.iter().any(short) || lost || counts.offered == 0 {
        return Shown::Unclear;
    }
    if counts.throttled > 0 { Shown::Throttled { sustained_per_s: None, burst: None } } else { Shown::Clean }
}

fn in_words(search: &Search, end: SearchEnd, tried: &[Tried]) -> String {
    let operations: u64 = tried.iter().map(|window| window.rate.count_in(window.length)).sum();
    let spent = format!("{} windows, {} operations", tried.len(), crate::load::thousands(operations));
    let rate = |per_s: f64| crate::analysis::per_s_in_words(per_s);
    match end {
        SearchEnd::Found { at_least, at_most } => {
            format!("the clean ceiling lies between {} and {} {}/s ({spent})", rate(at_least), rate(at_most), search.op.plural())
        }
        SearchEnd::Exhausted { at_least, at_most } => format!(
            "the search ran out of operations, time or windows with the clean ceiling between {} and {} {}/s ({spent}); allow more in its plan, or a coarser --precision",
            rate(at_least),
            rate(at_most),
            search.op.plural()
        ),
        SearchEnd::NotReached => format!(
            "the table accepted all of the over-drive, so there is no ceiling to search ({spent}); raise the rate of the plan's window"
        ),
        SearchEnd::Unclear => format!("the search ends: its windows do not show whose limit was met ({spent})"),
    }
}
