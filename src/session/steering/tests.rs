//! The rules of steering, without load.

use super::*;
use crate::plan::find;

fn steering(rate: u32) -> Steering {
    Steering::new(Op::Write, Rate::per_second(rate), Kinds::fixed(1_000, crate::load::Keys::Uniform))
}

fn plan(text: &str) -> Plan {
    crate::plan::parse(text, "test").expect("a plan")
}

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
    let mut steering = steering(1_000);
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
    let mut steering = steering(1_000);
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
    let mut steering = steering(8_000);
    steering.set_rate(Rate::per_second(8_000), ms(100), ms(120));
    let steps = steering.run_plan(find("quick").expect("shipped"), ms(10_100), ms(10_120));
    assert_eq!(closed(&steps), [ms(10_120)]);
    assert_eq!(steering.next_edge(), Some(Offset::from_secs(14)));
}

#[test]
fn a_pause_inside_a_plan_repeats_the_window_that_it_cut() {
    let mut steering = steering(1_000);
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
    let mut steering = steering(1_000);
    steering.run_plan(find("quick").expect("shipped"), ms(450), ms(470));
    steering.advance(ms(2_000));
    let steps = steering.set_rate(Rate::per_second(3_000), ms(3_000), ms(3_020));
    assert_eq!(closed(&steps), [ms(3_020)]);
    assert!(!steering.has_plan());
    assert!(steering.advance(Offset::from_secs(1_000)).is_empty());
}

#[test]
fn a_window_that_ends_early_moves_up_what_follows_with_its_pause() {
    let mut steering = steering(1_000);
    steering.run_plan(plan("name='p'\nwindow='30s'\npause='5s'\nrates=[1000, 2000, 3000]"), ms(450), ms(470));
    assert_eq!(opened(&steering.advance(ms(5_000))).len(), 1);
    let steps = steering.end_early(ms(11_300), "a reason");
    assert!(steps.contains(&Step::Schedule { start: Offset::from_secs(12), load: None }), "{steps:?}");
    assert!(matches!(steps.last(), Some(Step::Note(note)) if note == "window 1 of plan p ends early: a reason"));
    let steps = steering.advance(Offset::from_secs(1_000));
    let starts: Vec<f64> = opened(&steps).iter().map(|(start, _)| start.secs()).collect();
    assert_eq!((closed(&steps)[0], starts), (Offset::from_secs(12), vec![17.0, 52.0]));
    let ids: Vec<u32> = steps.iter().filter_map(|s| if let Step::Open(spec) = s { Some(spec.id.0) } else { None }).collect();
    assert_eq!(ids, [1, 2], "windows keep their numbers");
    // Too late to be sooner than planned: nothing happens.
    assert!(steering.end_early(Offset::from_secs(2_000), "late").is_empty());
}

#[test]
fn mixed_load_opens_two_windows_beside_each_other() {
    let mut steering = steering(1_000);
    let steps = steering.run_plan(plan("name='p'\nwindow='10s'\nreads=0.25\nrates=[1000]"), ms(450), ms(470));
    let load =
        steps.iter().find_map(|step| if let Step::Schedule { load: Some(load), .. } = step { Some(*load) } else { None }).expect("load");
    assert_eq!(load.beside.map(|beside| (beside.window, beside.op)), Some((WindowId(1), Op::Read)));
    let steps = steering.advance(Offset::from_secs(5));
    let specs: Vec<&WindowSpec> = steps.iter().filter_map(|s| if let Step::Open(spec) = s { Some(spec) } else { None }).collect();
    assert_eq!(
        specs.iter().map(|spec| (spec.rate, spec.op)).collect::<Vec<_>>(),
        [(Rate::per_second(750), Op::Write), (Rate::per_second(250), Op::Read)]
    );
    assert_eq!(specs[0].group(), specs[1].group());
    assert_eq!(closed(&steering.advance(Offset::from_secs(60))).len(), 2);
}

#[test]
fn a_ramp_is_scheduled_as_one_segment() {
    let mut steering = steering(1_000);
    let steps = steering.run_plan(plan("name='p'\n[[windows]]\nrate=1000\nto=8000\nlength='70s'"), ms(450), ms(470));
    let load =
        steps.iter().find_map(|step| if let Step::Schedule { load: Some(load), .. } = step { Some(*load) } else { None }).expect("load");
    assert_eq!(load.rate_after(Duration::from_secs(35)), Rate::per_second(4_500));
    assert!(
        matches!(steering.advance(Offset::from_secs(2)).as_slice(), [.., Step::Open(spec), Step::Plan(_), Step::Running(true)] if spec.ramp_to == Some(Rate::per_second(8_000)))
    );
}

#[test]
fn a_search_is_asked_after_each_window_until_it_is_over() {
    let mut steering = steering(1_000);
    steering.run_plan(find("find-ceiling").expect("shipped"), ms(450), ms(470));
    assert_eq!(steering.advance(Offset::from_secs(62)).last(), Some(&Step::Search));
    assert!(steering.advance(Offset::from_secs(64)).is_empty(), "asked once");
    assert_eq!(steering.running().map(|run| run.offered().count()), Some(1));
    let window = PlanWindow::steady(Op::Write, Rate::per_second(3_970), Duration::from_secs(20), Duration::from_secs(5));
    steering.search_goes_on(window, Offset::from_secs(64));
    assert_eq!(steering.next_edge(), Some(Offset::from_secs(70)));
    let steps = steering.advance(Offset::from_secs(95));
    assert_eq!((opened(&steps).len(), steps.last()), (1, Some(&Step::Search)));
    steering.search_is_over();
    assert_eq!(steering.advance(Offset::from_secs(96)), [Step::PlanEnded]);
}

#[test]
fn a_search_that_is_paused_while_it_decides_is_asked_again() {
    let mut steering = steering(1_000);
    steering.run_plan(find("find-ceiling").expect("shipped"), ms(450), ms(470));
    assert_eq!(steering.advance(Offset::from_secs(62)).last(), Some(&Step::Search));
    steering.pause(Offset::from_secs(63), Offset::from_secs(63));
    steering.resume(Offset::from_secs(70), Offset::from_secs(70));
    assert_eq!(steering.advance(Offset::from_secs(75)), [Step::Search]);
    assert_eq!(steering.running().map(|run| run.offered().count()), Some(1));
}
