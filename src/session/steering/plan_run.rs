//! A plan that runs: which of its windows are scheduled, which one is open, which were offered.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::kinds::Kinds;
use super::Step;
use crate::load::{Beside, Offset, Op, Ramp, Rate, SegmentLoad, Share, WindowId, WindowSpec};
use crate::plan::{Plan, PlanWindow, Until};
use crate::report::{PlanFacts, facts::PlannedWindow};

/// A window of the plan that has not ended. Mixed load has two, beside each other.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::session) struct Scheduled {
    pub(super) specs: Vec<WindowSpec>,
    pub(super) load: SegmentLoad,
    pub(super) start: Offset,
    pub(super) end: Offset,
    /// Its place in the plan.
    index: u32,
}

/// A plan that runs.
#[derive(Clone, Debug)]
pub(in crate::session) struct PlanRun {
    plan: Plan,
    /// The window that runs or comes next.
    next: u32,
    waiting: VecDeque<Scheduled>,
    current: Option<Scheduled>,
    /// The window that was offered last in each place of the plan, with its true length.
    offered: Vec<(WindowId, Duration)>,
    ends: Option<Offset>,
    searches: bool,
    /// The search has been asked for the window after the last.
    asked: bool,
}

impl PlanRun {
    pub(super) fn new(plan: Plan) -> Self {
        let searches = plan.search.is_some();
        Self { plan, next: 0, waiting: VecDeque::new(), current: None, offered: Vec::new(), ends: None, searches, asked: false }
    }

    /// Schedules everything from the window that comes next (after the one that is open). `fresh` tells that the edge has had a
    /// pause before it: that of a window that is repeated, or of the first, is not spent again.
    pub(super) fn place(&mut self, edge: Offset, fresh: bool, kinds: &Kinds, next_id: &mut u32) -> Vec<Step> {
        let from = self.current.as_ref().map_or(self.next, |current| current.index + 1);
        let reused: Vec<Scheduled> = self.waiting.drain(..).collect();
        let mut ids = reused.iter().flat_map(|scheduled| scheduled.specs.iter().map(|spec| spec.id));
        let mut new_id = || {
            ids.next().unwrap_or_else(|| {
                *next_id += 1;
                WindowId(*next_id - 1)
            })
        };
        self.asked = false;
        let (mut steps, mut edge) = (Vec::new(), edge);
        for (index, window) in self.plan.windows.iter().enumerate().skip(from as usize) {
            let spent = fresh && index == from as usize && index > 0;
            if !spent {
                edge = edge.plus(window.pause);
            }
            let scheduled = scheduled(&self.plan, window, index as u32, edge, kinds, &mut new_id);
            steps.push(Step::Schedule { start: scheduled.start, load: Some(scheduled.load) });
            steps.push(Step::Schedule { start: scheduled.end, load: None });
            edge = scheduled.end;
            self.waiting.push_back(scheduled);
        }
        self.ends = Some(edge);
        steps
    }

    /// Closes the window whose time has passed.
    pub(super) fn close_before(&mut self, now: Offset) -> Option<Scheduled> {
        let current = self.current.take_if(|current| current.end <= now)?;
        self.next = current.index + 1;
        let first = current.specs.first().map(|spec| spec.id).unwrap_or_default();
        self.offered.truncate(current.index as usize);
        self.offered.push((first, current.end.since(current.start)));
        Some(current)
    }

    /// Opens the window whose time has come.
    pub(super) fn open_by(&mut self, now: Offset) -> Option<Scheduled> {
        if self.current.is_some() || self.waiting.front().is_none_or(|next| next.start > now) {
            return None;
        }
        self.current = self.waiting.pop_front();
        if let Some(current) = &self.current {
            self.next = current.index;
        }
        self.current.clone()
    }

    /// Whether every window it has so far was offered.
    pub(super) fn is_offered(&self) -> bool {
        self.current.is_none() && self.waiting.is_empty()
    }

    /// Whether its search has to decide now; true once for each decision.
    pub(super) fn asks_search(&mut self) -> bool {
        self.searches && !std::mem::replace(&mut self.asked, true)
    }

    /// Whether nothing will follow.
    pub(super) fn is_over(&self) -> bool {
        self.is_offered() && !self.searches
    }

    pub(super) fn end_search(&mut self) {
        self.searches = false;
    }

    pub(super) fn append(&mut self, window: PlanWindow) {
        self.plan.windows.push(window);
    }

    pub(super) fn next_start(&self) -> Option<Offset> {
        self.waiting.front().map(|next| next.start)
    }

    pub(super) fn next_edge(&self) -> Option<Offset> {
        self.current.as_ref().map(|current| current.end).or_else(|| self.next_start())
    }

    /// Lets the open window end at `edge`; whether that is sooner than planned.
    pub(super) fn shorten(&mut self, edge: Offset) -> bool {
        let Some(current) = self.current.as_mut().filter(|current| edge < current.end && edge > current.start) else { return false };
        current.end = edge;
        true
    }

    /// The open window and where it ends, once the rest is forgotten.
    pub(super) fn into_current(self) -> Option<(Vec<WindowSpec>, Offset)> {
        self.current.map(|current| (current.specs, current.end))
    }

    /// What ends the open window early, with the numbers of its windows.
    pub(in crate::session) fn until(&self) -> Option<(Until, Vec<WindowId>)> {
        let current = self.current.as_ref()?;
        let until = self.plan.windows.get(current.index as usize)?.until?;
        Some((until, current.specs.iter().map(|spec| spec.id).collect()))
    }

    /// The plan, with the windows that a search has added.
    pub(in crate::session) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What was offered: the plan's windows with the number and true length of each.
    pub(in crate::session) fn offered(&self) -> impl Iterator<Item = (&PlanWindow, WindowId, Duration)> {
        self.plan.windows.iter().zip(&self.offered).map(|(window, (id, length))| (window, *id, *length))
    }

    pub(super) fn current_in_words(&self) -> String {
        format!("window {} of plan {}", self.next + 1, self.plan.name)
    }

    pub(super) fn paused_in_words(&self) -> String {
        format!("plan {} paused; resuming repeats window {}", self.plan.name, self.next + 1)
    }

    /// What is shown of it.
    pub(super) fn facts(&self) -> PlanFacts {
        let windows = self.plan.windows.iter().map(|window| planned(&self.plan, window)).collect();
        PlanFacts {
            name: self.plan.name.clone(),
            windows,
            next: self.next,
            ends: self.ends.filter(|_| !self.searches),
            searches: self.searches,
        }
    }

    /// A copy from which the run can go on after a pause.
    pub(super) fn clone_paused(&self) -> Self {
        Self { waiting: VecDeque::new(), current: None, asked: false, ..self.clone() }
    }
}

fn planned(plan: &Plan, window: &PlanWindow) -> PlannedWindow {
    PlannedWindow {
        label: window.label.clone(),
        op: window.op,
        offered_per_s: window.rate,
        duration_s: window.length.as_secs_f64(),
        pause_s: window.pause.as_secs_f64(),
        offered_to_per_s: window.ramp_to,
        read_share: window.reads.map(Share::get),
        item_bytes: window.item_bytes.or(plan.item_bytes),
        keys: window.keys.or(plan.keys),
        until: window.until.map(|until| until.to_string()),
    }
}

fn scheduled(
    plan: &Plan,
    window: &PlanWindow,
    index: u32,
    start: Offset,
    kinds: &Kinds,
    new_id: &mut impl FnMut() -> WindowId,
) -> Scheduled {
    let end = start.plus(window.length);
    // Windows of a kind that the session does not send are refused before they come here.
    let kind = kinds.of(plan, window).unwrap_or_default();
    let id = new_id();
    let spec = WindowSpec {
        ramp_to: window.ramp_to,
        item_bytes: window.item_bytes,
        keys: window.keys,
        ..WindowSpec::steady(id, window.label.clone(), window.op, window.rate, start, Some(end))
    };
    let ramp = window.ramp_to.and_then(|to| Ramp::new(to, window.length));
    let load = SegmentLoad { ramp, kind, ..SegmentLoad::steady(id, window.rate, window.op) };
    let Some(reads) = window.reads else { return Scheduled { specs: vec![spec], load, start, end, index } };
    let beside = new_id();
    let of = |rate: Rate, share: f64| Rate::from_per_s(rate.per_s() * share).unwrap_or(Rate::MIN);
    let part = |id, beside, op, share: f64| WindowSpec {
        id,
        beside: Some(beside),
        op,
        label: format!("{} ({})", window.label, op.plural()),
        rate: of(window.rate, share),
        ramp_to: window.ramp_to.map(|to| of(to, share)),
        ..spec.clone()
    };
    let specs = vec![part(id, beside, Op::Write, 1.0 - reads.get()), part(beside, id, Op::Read, reads.get())];
    let load = SegmentLoad { beside: Some(Beside { window: beside, op: Op::Read, kind, share: reads }), ..load };
    Scheduled { specs, load, start, end, index }
}
