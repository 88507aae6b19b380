//! Steering: turns setpoints and plans into windows and segments. Pure: it is told the time and says what to do, so that
//! every rule of it can be tested without load.

use std::collections::VecDeque;
use std::time::Duration;

use crate::load::{BUCKET, Offset, Op, Rate, SegmentLoad, Setpoint, WindowId, WindowSpec};
use crate::plan::Plan;
use crate::report::{PlanFacts, facts::PlannedWindow};

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
    /// The plan has offered its last window.
    PlanEnded,
    /// Load runs from now on, or not.
    Running(bool),
    /// Worth a line.
    Note(String),
}

/// A window of the plan that has not ended.
#[derive(Clone, Debug)]
struct Scheduled {
    spec: WindowSpec,
    end: Offset,
    /// Its place in the plan.
    index: u32,
}

#[derive(Clone, Debug)]
struct Running {
    plan: Plan,
    facts: PlanFacts,
    waiting: VecDeque<Scheduled>,
    current: Option<Scheduled>,
}

/// What is offered and why.
#[derive(Debug)]
pub(super) struct Steering {
    op: Op,
    next_id: u32,
    /// The open window, if a person steers.
    open: Option<WindowId>,
    plan: Option<Running>,
    /// A plan that was paused: where to go on.
    paused_plan: Option<(Plan, u32)>,
    /// The rate to resume at.
    rate: Rate,
    /// When load last ran.
    last_load: Option<Offset>,
}

impl Steering {
    pub(super) fn new(op: Op, rate: Rate) -> Self {
        Self { op, next_id: 0, open: None, plan: None, paused_plan: None, rate, last_load: None }
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
        let spec = WindowSpec { id, label: format!("{rate}/s"), op: self.op, rate, start: at, planned_end: None };
        steps.extend([
            Step::Schedule { start: at, load: Some(SegmentLoad { window: id, rate, op: self.op }) },
            Step::Requested(Setpoint { rate: Some(rate), at: now }),
            Step::Open(spec),
            Step::Running(true),
        ]);
        steps
    }

    /// Offers nothing from `at` on. A plan's window that is cut short is repeated on resume.
    pub(super) fn pause(&mut self, now: Offset, at: Offset) -> Vec<Step> {
        let resume = self.plan.as_ref().map(|running| (running.plan.clone(), running.facts.next));
        let mut steps = self.cut(at);
        if let Some((plan, next)) = resume {
            steps.push(Step::Note(format!("plan {} paused; resuming repeats window {}", plan.name, next + 1)));
            self.paused_plan = Some((plan, next));
        }
        steps.extend([Step::Schedule { start: at, load: None }, Step::Requested(Setpoint { rate: None, at: now }), Step::Running(false)]);
        steps
    }

    /// Goes on after a pause.
    pub(super) fn resume(&mut self, now: Offset, at: Offset) -> Vec<Step> {
        match self.paused_plan.take() {
            Some((plan, next)) => self.start_plan(plan, next, now, at),
            None if self.open.is_none() && self.plan.is_none() => self.set_rate(self.rate, now, at),
            None => Vec::new(),
        }
    }

    /// Runs a plan on the next bucket edges.
    pub(super) fn run_plan(&mut self, plan: Plan, now: Offset, at: Offset) -> Vec<Step> {
        self.paused_plan = None;
        self.start_plan(plan, 0, now, at)
    }

    fn start_plan(&mut self, plan: Plan, from: u32, now: Offset, at: Offset) -> Vec<Step> {
        let mut steps = self.cut(at);
        steps.push(Step::Schedule { start: at, load: None });
        let ready = at.plus(AHEAD);
        let settled = self.last_load.map_or(ready, |last| last.plus(SETTLE).max(ready));
        let mut edge = settled.ceil_to(BUCKET);
        let mut waiting = VecDeque::new();
        for (index, window) in plan.windows.iter().enumerate().skip(from as usize) {
            // A window that is repeated after a pause has had its pause.
            if from == 0 || index > from as usize {
                edge = edge.plus(window.pause);
            }
            let id = self.new_id();
            let end = edge.plus(window.length);
            let spec =
                WindowSpec { id, label: window.label.clone(), op: window.op, rate: window.rate, start: edge, planned_end: Some(end) };
            steps.push(Step::Schedule { start: edge, load: Some(SegmentLoad { window: id, rate: window.rate, op: window.op }) });
            steps.push(Step::Schedule { start: end, load: None });
            waiting.push_back(Scheduled { spec, end, index: index as u32 });
            edge = end;
        }
        let windows = plan
            .windows
            .iter()
            .map(|window| PlannedWindow {
                label: window.label.clone(),
                op: window.op,
                offered_per_s: window.rate,
                duration_s: window.length.as_secs_f64(),
                pause_s: window.pause.as_secs_f64(),
            })
            .collect();
        let facts = PlanFacts { name: plan.name.clone(), windows, next: from, ends: Some(edge) };
        steps.push(Step::Requested(Setpoint { rate: None, at: now }));
        steps.push(Step::Plan(facts.clone()));
        steps.push(Step::Running(false));
        self.plan = Some(Running { plan, facts, waiting, current: None });
        steps
    }

    /// Opens and closes the plan's windows whose time has come.
    pub(super) fn advance(&mut self, now: Offset) -> Vec<Step> {
        let mut steps = Vec::new();
        loop {
            let Some(running) = &mut self.plan else { return steps };
            if let Some(current) = running.current.take_if(|current| current.end <= now) {
                self.last_load = Some(current.end);
                running.facts.next = current.index + 1;
                steps.push(Step::Close { window: current.spec.id, end: current.end });
                steps.push(Step::Plan(running.facts.clone()));
                if running.waiting.front().is_none_or(|next| next.spec.start > current.end) {
                    steps.push(Step::Requested(Setpoint { rate: None, at: current.end }));
                    steps.push(Step::Running(false));
                }
            } else if running.current.is_none() && running.waiting.front().is_some_and(|next| next.spec.start <= now) {
                if let Some(next) = running.waiting.pop_front() {
                    self.rate = next.spec.rate;
                    running.facts.next = next.index;
                    steps.push(Step::Requested(Setpoint { rate: Some(next.spec.rate), at: next.spec.start }));
                    steps.push(Step::Open(next.spec.clone()));
                    steps.push(Step::Plan(running.facts.clone()));
                    steps.push(Step::Running(true));
                    running.current = Some(next);
                }
            } else if running.current.is_none() && running.waiting.is_empty() {
                self.plan = None;
                steps.push(Step::PlanEnded);
                return steps;
            } else {
                return steps;
            }
        }
    }

    /// When [`Steering::advance`] has something to do next.
    pub(super) fn next_edge(&self) -> Option<Offset> {
        let running = self.plan.as_ref()?;
        running.current.as_ref().map(|current| current.end).or_else(|| running.waiting.front().map(|next| next.spec.start))
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

    /// Closes the open window and forgets the rest of the plan.
    fn cut(&mut self, at: Offset) -> Vec<Step> {
        let mut steps = Vec::new();
        if let Some(window) = self.open.take() {
            self.last_load = Some(at);
            steps.push(Step::Close { window, end: at });
        }
        if let Some(running) = self.plan.take()
            && let Some(current) = running.current
        {
            self.last_load = Some(at);
            steps.push(Step::Close { window: current.spec.id, end: at.min(current.end) });
        }
        steps
    }

    fn new_id(&mut self) -> WindowId {
        let id = WindowId(self.next_id);
        self.next_id += 1;
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::find;

    fn ms(millis: u64) -> Offset {
        Offset::from_millis(millis)
    }

    fn opened(steps: &[Step]) -> Vec<(Offset, Rate)> {
        steps.iter().filter_map(|step| if let Step::Open(spec) = step { Some((spec.start, spec.rate)) } else { None }).collect()
    }

    fn closed(steps: &[Step]) -> Vec<Offset> {
        steps.iter().filter_map(|step| if let Step::Close { end, .. } = step { Some(*end) } else { None }).collect()
    }

    #[test]
    fn every_setpoint_closes_a_window_and_opens_the_next_at_that_instant() {
        let mut steering = Steering::new(Op::Write, Rate::per_second(1_000));
        steering.set_rate(Rate::per_second(1_000), ms(100), ms(120));
        let steps = steering.set_rate(Rate::per_second(1_500), ms(5_000), ms(5_020));
        assert_eq!(closed(&steps), [ms(5_020)]);
        assert_eq!(opened(&steps), [(ms(5_020), Rate::per_second(1_500))]);
        let steps = steering.pause(ms(9_000), ms(9_020));
        assert_eq!(closed(&steps), [ms(9_020)]);
        let steps = steering.resume(ms(12_000), ms(12_020));
        assert_eq!(opened(&steps), [(ms(12_020), Rate::per_second(1_500))]);
    }

    #[test]
    fn a_plan_runs_on_whole_seconds_with_its_pauses() {
        let mut steering = Steering::new(Op::Write, Rate::per_second(1_000));
        steering.run_plan(find("quick").expect("shipped"), ms(450), ms(470));
        let steps = steering.advance(Offset::from_secs(1_000));
        let starts: Vec<f64> = opened(&steps).iter().map(|(start, _)| start.secs()).collect();
        assert_eq!(starts, [1.0, 11.0, 21.0, 31.0]);
        let ends: Vec<f64> = closed(&steps).iter().map(|end| end.secs()).collect();
        assert_eq!(ends, [9.0, 19.0, 29.0, 39.0]);
        assert_eq!(steps.last(), Some(&Step::PlanEnded));
        assert_eq!(steering.next_edge(), None);
    }

    #[test]
    fn a_plan_lets_the_load_before_it_settle() {
        let mut steering = Steering::new(Op::Write, Rate::per_second(8_000));
        steering.set_rate(Rate::per_second(8_000), ms(100), ms(120));
        let steps = steering.run_plan(find("quick").expect("shipped"), ms(10_100), ms(10_120));
        assert_eq!(closed(&steps), [ms(10_120)]);
        assert_eq!(steering.next_edge(), Some(Offset::from_secs(14)));
    }

    #[test]
    fn a_pause_inside_a_plan_repeats_the_window_that_it_cut() {
        let mut steering = Steering::new(Op::Write, Rate::per_second(1_000));
        steering.run_plan(find("quick").expect("shipped"), ms(450), ms(470));
        assert_eq!(opened(&steering.advance(ms(12_000))).len(), 2);
        assert_eq!(closed(&steering.pause(ms(13_000), ms(13_020))), [ms(13_020)]);
        assert!(steering.has_plan());
        steering.resume(ms(20_000), ms(20_020));
        let steps = steering.advance(Offset::from_secs(1_000));
        let rates: Vec<Rate> = opened(&steps).iter().map(|(_, rate)| *rate).collect();
        assert_eq!(rates, [4_000, 5_000, 8_000].map(Rate::per_second));
    }

    #[test]
    fn a_step_by_hand_ends_the_plan() {
        let mut steering = Steering::new(Op::Write, Rate::per_second(1_000));
        steering.run_plan(find("quick").expect("shipped"), ms(450), ms(470));
        steering.advance(ms(2_000));
        let steps = steering.set_rate(Rate::per_second(3_000), ms(3_000), ms(3_020));
        assert_eq!(closed(&steps), [ms(3_020)]);
        assert!(!steering.has_plan());
        assert!(steering.advance(Offset::from_secs(1_000)).is_empty());
    }
}
