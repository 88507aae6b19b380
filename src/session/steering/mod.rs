//! Steering: turns setpoints and plans into windows and segments. Pure: it is told the time and says what to do, so that
//! every rule of it can be tested without load.

mod plan_run;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::load::{BUCKET, Offset, Op, Rate, SegmentLoad, Setpoint, WindowId, WindowSpec};
use crate::plan::{Plan, PlanWindow};
use crate::report::PlanFacts;

use super::kinds::Kinds;
pub(super) use plan_run::PlanRun;

/// A plan that follows load that ran waits this long first, so that the burst refills and requests drain.
const SETTLE: Duration = Duration::from_secs(3);
/// A plan's first edge is at least this far ahead, so that every shard has the whole schedule before it.
const AHEAD: Duration = Duration::from_millis(200);

/// What the session has to do, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Tell the engine.
    Schedule { start: Offset, load: Option<SegmentLoad> },
    /// A rate was asked for.
    Requested(Setpoint),
    /// A window opens.
    Open(WindowSpec),
    /// A window closes.
    Close { window: WindowId, end: Offset },
    /// The plan moved on.
    Plan(PlanFacts),
    /// The plan has offered its windows, and its search decides on the next.
    Search,
    /// The plan has offered its last window.
    PlanEnded,
    /// Load runs from now on, or not.
    Running(bool),
    /// Worth a line.
    Note(String),
}

/// What is offered and why.
#[derive(Debug)]
pub(super) struct Steering {
    op: Op,
    kinds: Kinds,
    next_id: u32,
    /// The open window, if a person steers.
    open: Option<WindowId>,
    plan: Option<PlanRun>,
    /// A plan that was paused.
    paused_plan: Option<PlanRun>,
    /// The rate to resume at.
    rate: Rate,
    /// When load last ran.
    last_load: Option<Offset>,
}

impl Steering {
    pub(super) fn new(op: Op, rate: Rate, kinds: Kinds) -> Self {
        Self { op, kinds, next_id: 0, open: None, plan: None, paused_plan: None, rate, last_load: None }
    }

    /// Offers `rate` from `at` on. Ends a plan that runs.
    pub(super) fn set_rate(&mut self, rate: Rate, now: Offset, at: Offset) -> Vec<Step> {
        let mut steps = self.cut(at);
        if self.paused_plan.take().is_some() {
            steps.push(Step::Note("the plan ends here: the rate is steered by hand".to_owned()));
        }
        self.rate = rate;
        let id = self.new_id();
        self.open = Some(id);
        self.last_load = Some(at);
        let spec = WindowSpec::steady(id, format!("{rate}/s"), self.op, rate, at, None);
        steps.extend([
            Step::Schedule { start: at, load: Some(SegmentLoad::steady(id, rate, self.op)) },
            Step::Requested(Setpoint { rate: Some(rate), at: now }),
            Step::Open(spec),
            Step::Running(true),
        ]);
        steps
    }

    /// Offers nothing from `at` on. A plan's window that is cut short is repeated on resume.
    pub(super) fn pause(&mut self, now: Offset, at: Offset) -> Vec<Step> {
        let running = self.plan.as_ref().map(PlanRun::clone_paused);
        let mut steps = self.cut(at);
        if let Some(run) = running {
            steps.push(Step::Note(run.paused_in_words()));
            self.paused_plan = Some(run);
        }
        steps.extend([Step::Schedule { start: at, load: None }, Step::Requested(Setpoint { rate: None, at: now }), Step::Running(false)]);
        steps
    }

    /// Goes on after a pause.
    pub(super) fn resume(&mut self, now: Offset, at: Offset) -> Vec<Step> {
        match self.paused_plan.take() {
            Some(run) => self.start(run, now, at),
            None if self.open.is_none() && self.plan.is_none() => self.set_rate(self.rate, now, at),
            None => Vec::new(),
        }
    }

    /// Runs a plan on the next bucket edges.
    pub(super) fn run_plan(&mut self, plan: Plan, now: Offset, at: Offset) -> Vec<Step> {
        self.paused_plan = None;
        self.start(PlanRun::new(plan), now, at)
    }

    fn start(&mut self, mut run: PlanRun, now: Offset, at: Offset) -> Vec<Step> {
        let mut steps = self.cut(at);
        steps.push(Step::Schedule { start: at, load: None });
        steps.extend(run.place(self.edge_after(at), true, &self.kinds, &mut self.next_id));
        steps.push(Step::Requested(Setpoint { rate: None, at: now }));
        steps.push(Step::Plan(run.facts()));
        steps.push(Step::Running(false));
        self.plan = Some(run);
        steps
    }

    /// The first edge from which a plan's windows may follow what ran before.
    fn edge_after(&self, at: Offset) -> Offset {
        let ready = at.plus(AHEAD);
        self.last_load.map_or(ready, |last| last.plus(SETTLE).max(ready)).ceil_to(BUCKET)
    }

    /// Opens and closes the plan's windows whose time has come.
    pub(super) fn advance(&mut self, now: Offset) -> Vec<Step> {
        let mut steps = Vec::new();
        loop {
            let Some(run) = &mut self.plan else { return steps };
            if let Some(closed) = run.close_before(now) {
                self.last_load = Some(closed.end);
                steps.extend(closed.specs.iter().map(|spec| Step::Close { window: spec.id, end: closed.end }));
                steps.push(Step::Plan(run.facts()));
                if run.next_start().is_none_or(|start| start > closed.end) {
                    steps.push(Step::Requested(Setpoint { rate: None, at: closed.end }));
                    steps.push(Step::Running(false));
                }
            } else if let Some(opened) = run.open_by(now) {
                self.rate = opened.load.rate;
                steps.push(Step::Requested(Setpoint { rate: Some(opened.load.rate), at: opened.start }));
                steps.extend(opened.specs.iter().cloned().map(Step::Open));
                steps.push(Step::Plan(run.facts()));
                steps.push(Step::Running(true));
            } else if run.is_offered() {
                if run.asks_search() {
                    steps.push(Step::Search);
                } else if run.is_over() {
                    self.plan = None;
                    steps.push(Step::PlanEnded);
                }
                return steps;
            } else {
                return steps;
            }
        }
    }

    /// When [`Steering::advance`] has something to do next.
    pub(super) fn next_edge(&self) -> Option<Offset> {
        self.plan.as_ref()?.next_edge()
    }

    /// The plan that runs.
    pub(super) fn running(&self) -> Option<&PlanRun> {
        self.plan.as_ref()
    }

    /// Ends the plan's window at the next bucket edge that every shard still hears of in time, and moves up what follows.
    pub(super) fn end_early(&mut self, now: Offset, why: &str) -> Vec<Step> {
        let edge = now.plus(AHEAD).ceil_to(BUCKET);
        let Some(run) = self.plan.as_mut() else { return Vec::new() };
        if !run.shorten(edge) {
            return Vec::new();
        }
        let mut steps = vec![Step::Schedule { start: edge, load: None }];
        steps.extend(run.place(edge, false, &self.kinds, &mut self.next_id));
        steps.push(Step::Plan(run.facts()));
        steps.push(Step::Note(format!("{} ends early: {why}", run.current_in_words())));
        steps
    }

    /// The search has decided on another window.
    pub(super) fn search_goes_on(&mut self, window: PlanWindow, at: Offset) -> Vec<Step> {
        let edge = self.last_load.unwrap_or_default().max(at.plus(AHEAD)).ceil_to(BUCKET);
        let Some(run) = self.plan.as_mut() else { return Vec::new() };
        run.append(window);
        let mut steps = run.place(edge, false, &self.kinds, &mut self.next_id);
        steps.push(Step::Plan(run.facts()));
        steps
    }

    /// The search is over, and the plan with it.
    pub(super) fn search_is_over(&mut self) {
        if let Some(run) = self.plan.as_mut() {
            run.end_search();
        }
    }

    /// Ends whatever is offered at `at`, for good.
    pub(super) fn stop(&mut self, at: Offset) -> Vec<Step> {
        self.paused_plan = None;
        self.cut(at)
    }

    /// Whether a plan runs or is paused.
    #[cfg(test)]
    fn has_plan(&self) -> bool {
        self.plan.is_some() || self.paused_plan.is_some()
    }

    /// Closes what is open and forgets the rest of the plan.
    fn cut(&mut self, at: Offset) -> Vec<Step> {
        let mut steps = Vec::new();
        if let Some(window) = self.open.take() {
            self.last_load = Some(at);
            steps.push(Step::Close { window, end: at });
        }
        if let Some((specs, end)) = self.plan.take().and_then(PlanRun::into_current) {
            self.last_load = Some(at);
            steps.extend(specs.iter().map(|spec| Step::Close { window: spec.id, end: at.min(end) }));
        }
        steps
    }

    fn new_id(&mut self) -> WindowId {
        let id = WindowId(self.next_id);
        self.next_id += 1;
        id
    }
}
