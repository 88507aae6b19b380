//! Keys: what they ask for, and what they can never do.

use std::time::Duration;

use crossterm::event::KeyCode;
use proptest::prelude::*;

use super::states::{app, replayed, throttled};
use crate::load::Rate;
use crate::report::{EventKind, Phase, StopReason};
use crate::session::remote::{Command, Play};
use crate::tui::app::App;
use crate::tui::fixtures::Script;
use crate::tui::keymap::{Action, Chord, Context, KEYMAP, lookup};
use crate::tui::view::View;

fn press(app: &mut App, chord: Chord) -> Option<Command> {
    lookup(app.context(), chord).and_then(|action| app.update(action))
}

fn later(app: &mut App, millis: u64) {
    let up = app.up() + Duration::from_millis(millis);
    app.advance(up);
}

fn key(c: char) -> Chord {
    Chord { code: KeyCode::Char(c), ctrl: false }
}

fn creating() -> App {
    let mut script = Script::new();
    script.request(Some(1_000));
    app(&mut script)
}

#[test]
fn five_steps_add_up_before_the_first_is_confirmed() {
    for mut app in [creating(), app(&mut throttled())] {
        let start = app.steering.wanted().and_then(crate::tui::steering::Wish::rate).expect("a rate");
        let last = (0..5).filter_map(|_| app.update(Action::RateUp)).last();
        assert_eq!(last, Some(Command::SetRate(Rate::per_second(start.per_s() as u32 + 1_250))));
    }
}

#[test]
fn a_confirmed_step_is_no_longer_pending_and_an_unheard_one_is_forgotten() {
    let mut script = throttled();
    let mut app = app(&mut script);
    app.update(Action::RateDouble);
    script.set(Some(12_000), None);
    app.observe(script.recording());
    assert_eq!(app.update(Action::RateHalve), Some(Command::SetRate(Rate::per_second(6_000))));
    later(&mut app, 10_000);
    assert_eq!(app.update(Action::RateHalve), Some(Command::SetRate(Rate::per_second(6_000))));
    app.refused();
    assert!(app.notice().is_some_and(|notice| notice.warning));
    assert_eq!(app.update(Action::RateUp), Some(Command::SetRate(Rate::per_second(12_250))));
}

#[test]
fn space_pauses_and_resumes() {
    let mut script = throttled();
    let mut app = app(&mut script);
    assert_eq!(app.update(Action::PauseResume), Some(Command::Pause));
    assert_eq!(app.update(Action::PauseResume), Some(Command::Resume));
    assert_eq!(app.update(Action::PauseResume), Some(Command::Pause));
    script.set(None, None);
    script.phase(Phase::Paused);
    app.observe(script.recording());
    assert_eq!(app.update(Action::PauseResume), Some(Command::Resume));
}

#[test]
fn a_wrong_rate_is_told_what_to_type_and_nothing_is_lost() {
    let mut app = app(&mut throttled());
    app.update(Action::RatePrompt);
    "25x".chars().for_each(|c| drop(press(&mut app, key(c))));
    assert_eq!(app.update(Action::Submit), None);
    let Some(crate::tui::overlay::Overlay::Prompt(prompt)) = &app.overlay else { panic!("closed") };
    assert!(prompt.text == "25x" && prompt.error.contains("for example 2500"), "{prompt:?}");
    app.update(Action::Erase);
    press(&mut app, key('k'));
    assert_eq!(app.update(Action::Submit), Some(Command::SetRate(Rate::per_second(25_000))));
    assert_eq!(app.overlay, None);
}

#[test]
fn keys_typed_into_the_prompt_do_nothing_else() {
    let mut app = app(&mut throttled());
    app.update(Action::RatePrompt);
    for c in "qy s p1f?".chars() {
        assert_eq!(press(&mut app, key(c)), None);
    }
    assert_eq!((app.context(), app.view), (Context::Prompt, View::Overview));
}

#[test]
fn a_held_q_does_not_confirm_itself() {
    let mut app = app(&mut throttled());
    for _ in 0..100 {
        assert_eq!(press(&mut app, key('q')), None);
        later(&mut app, 33);
    }
    assert_eq!(app.context(), Context::Question);
    assert_eq!(press(&mut app, key('y')), Some(Command::Stop(StopReason::Quit)));
}

#[test]
fn a_y_that_was_typed_before_the_question_could_be_read_does_not_count() {
    let mut app = app(&mut throttled());
    press(&mut app, key('q'));
    assert_eq!(press(&mut app, key('y')), None);
    later(&mut app, 200);
    assert!(press(&mut app, key('y')).is_some());
}

#[test]
fn q_quits_at_once_where_nothing_is_lost() {
    let mut app = App::new(Rate::per_second(1));
    assert_eq!(app.update(Action::Quit), Some(Command::Stop(StopReason::Quit)));
    let mut script = throttled();
    script.phase(Phase::PlanEnded);
    assert_eq!(super::states::app(&mut script).update(Action::Quit), Some(Command::Stop(StopReason::Quit)));
}

#[test]
fn control_c_asks_then_stops_then_abandons() {
    let mut app = app(&mut throttled());
    assert_eq!(app.update(Action::Interrupt), None);
    assert_eq!(app.context(), Context::Question);
    assert_eq!(app.update(Action::Interrupt), Some(Command::Stop(StopReason::Signal("INT".to_owned()))));
    assert!(app.is_stopping());
    assert_eq!(app.update(Action::Interrupt), Some(Command::Abandon));
    assert!(!app.stopping.is_given_up(app.up()));
    later(&mut app, 6_000);
    assert!(app.stopping.is_given_up(app.up()));
}

#[test]
fn after_a_quit_by_key_control_c_warns_before_it_abandons() {
    let mut app = app(&mut throttled());
    app.update(Action::Quit);
    later(&mut app, 200);
    assert!(app.update(Action::Yes).is_some());
    assert_eq!(app.update(Action::Interrupt), None);
    assert_eq!(app.update(Action::Interrupt), Some(Command::Abandon));
}

#[test]
fn escape_steps_back_from_control_c_and_never_quits() {
    let mut app = app(&mut throttled());
    app.update(Action::Interrupt);
    assert_eq!(app.update(Action::Close), None);
    assert_eq!(app.update(Action::Interrupt), None);
    for _ in 0..50 {
        assert_eq!(press(&mut app, Chord { code: KeyCode::Esc, ctrl: false }), None);
    }
    assert!(!app.is_stopping());
}

#[test]
fn steering_by_hand_asks_before_it_ends_a_plan() {
    let mut script = Script::new();
    script.active();
    script.plan(&[1_000, 8_000], 0);
    script.set(Some(1_000), Some(30));
    script.run(2);
    let mut app = app(&mut script);
    assert_eq!(app.update(Action::RateUp), None);
    later(&mut app, 200);
    assert_eq!(app.update(Action::Yes), Some(Command::SetRate(Rate::per_second(1_250))));
    assert_eq!(app.update(Action::RateUp), Some(Command::SetRate(Rate::per_second(1_500))));
}

#[test]
fn a_plan_is_run_as_previewed() {
    let mut app = app(&mut throttled());
    app.update(Action::PlanPicker);
    app.update(Action::RowDown);
    let Some(Command::RunPlan(plan)) = app.update(Action::Submit) else { panic!("no plan") };
    assert_eq!(plan.name, crate::plan::presets()[1].plan.name);
}

#[test]
fn a_frozen_display_stands_still_and_says_so_while_news_come() {
    let mut script = throttled();
    let mut app = app(&mut script);
    let shown = std::sync::Arc::clone(&app.shown);
    app.update(Action::Freeze);
    script.run(5);
    app.observe(script.recording());
    later(&mut app, 5_000);
    assert!(std::sync::Arc::ptr_eq(&app.shown, &shown));
    assert_eq!(app.shown_now(), shown.load.at);
    app.update(Action::Freeze);
    assert!(std::sync::Arc::ptr_eq(&app.shown, &app.newest));
}

#[test]
fn a_snapshot_is_announced_once_with_its_path() {
    let mut script = throttled();
    let mut app = app(&mut script);
    assert_eq!(app.update(Action::Dump), Some(Command::Dump));
    script.event(EventKind::Snapshot, "./throttlescope-ts-7f3a09-001.json");
    app.observe(script.recording());
    assert!(app.notice().is_some_and(|notice| notice.text.contains("7f3a09-001.json")));
    later(&mut app, 6_000);
    assert_eq!(app.notice(), None);
    script.run(1);
    app.observe(script.recording());
    assert_eq!(app.notice(), None);
}

#[test]
fn nothing_steers_a_session_that_is_stopping() {
    let mut script = throttled();
    script.stop(StopReason::Quit);
    let mut app = app(&mut script);
    for action in [Action::RateUp, Action::RateDouble, Action::PauseResume, Action::RatePrompt, Action::PlanPicker, Action::Quit] {
        assert_eq!(app.update(action), None, "{action:?}");
        assert_eq!(app.overlay, None, "{action:?}");
    }
}

fn any_chord() -> impl Strategy<Value = Chord> {
    let known: Vec<Chord> = KEYMAP.iter().flat_map(|binding| binding.chords).copied().collect();
    prop_oneof![
        proptest::sample::select(known),
        any::<char>().prop_map(|c| Chord { code: KeyCode::Char(c), ctrl: false }),
        (1u8..24).prop_map(|n| Chord { code: KeyCode::F(n), ctrl: false }),
    ]
}

proptest! {
    #[test]
    fn no_keys_before_the_table_is_active_stop_the_session_without_a_yes_or_control_c(
        keys in prop::collection::vec((any_chord(), 0u64..400), 0..150),
    ) {
        let mut app = creating();
        for (chord, wait) in keys {
            if chord == key('y') || chord == (Chord { code: KeyCode::Char('c'), ctrl: true }) {
                continue;
            }
            let command = press(&mut app, chord);
            prop_assert!(!matches!(command, Some(Command::Stop(_) | Command::Abandon)), "{:?} {:?}", chord, command);
            later(&mut app, wait);
        }
        prop_assert!(!app.is_stopping());
    }

    #[test]
    fn any_keys_in_any_state_leave_a_screen_that_draws(keys in prop::collection::vec((any_chord(), 0u64..400), 0..60), state in 0usize..14) {
        let (_, mut app) = super::states::states().swap_remove(state);
        for (chord, wait) in keys {
            press(&mut app, chord);
            later(&mut app, wait);
        }
        let area = ratatui::layout::Rect::new(0, 0, 80, 24);
        let mut buffer = ratatui::buffer::Buffer::empty(area);
        crate::tui::view::draw(&app, &super::states::look(crate::tui::GlyphChoice::Braille, crate::tui::ThemeChoice::Dark256), area, &mut buffer);
    }
}

#[test]
fn a_replay_is_steered_and_left_at_once_and_its_load_is_not() {
    let mut app = replayed(&mut throttled(), false);
    let code = |code| Chord { code, ctrl: false };
    for (chord, play) in [
        (key(' '), Play::PauseResume),
        (code(KeyCode::Left), Play::Skip(-10)),
        (code(KeyCode::PageDown), Play::Skip(60)),
        (code(KeyCode::End), Play::ToEnd),
        (key('>'), Play::Faster),
        (key('-'), Play::Slower),
    ] {
        assert_eq!(press(&mut app, chord), Some(Command::Play(play)), "{chord:?}");
    }
    for chord in [key('r'), key('p'), key('s'), key('j'), code(KeyCode::Up)] {
        assert_eq!(press(&mut app, chord), None);
        assert!(app.overlay.is_none() && app.notice().is_some_and(|notice| notice.text.contains("replay")), "{chord:?}");
        later(&mut app, 6_000);
    }
    press(&mut app, key('?'));
    assert_eq!(app.context(), Context::Help);
    for chord in [key('q'), Chord { code: KeyCode::Char('c'), ctrl: true }] {
        press(&mut app, code(KeyCode::Esc));
        assert_eq!(press(&mut app, chord), Some(Command::Stop(StopReason::Quit)));
        assert!(app.overlay.is_none());
    }
}

#[test]
fn a_replay_of_a_session_that_is_over_is_still_a_screen_with_keys() {
    let mut script = throttled();
    script.stop(StopReason::Completed);
    script.phase(Phase::Finished);
    let mut app = replayed(&mut script, true);
    assert!(!app.is_stopping());
    assert_eq!(press(&mut app, key(' ')), Some(Command::Play(Play::PauseResume)));
    press(&mut app, key('2'));
    assert_eq!(app.view, View::Latency);
    let before = app.now();
    later(&mut app, 5_000);
    assert_eq!(app.now(), before, "only the replay moves its clock");
}
