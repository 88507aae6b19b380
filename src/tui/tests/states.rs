//! Every state of the screen draws at every size.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::load::{Offset, Rate};
use crate::report::replay::{Kept, Playback};
use crate::report::{EventKind, Phase, Recording, StopReason};
use crate::tui::app::App;
use crate::tui::fixtures::Script;
use crate::tui::glyphs::{GlyphChoice, Glyphs};
use crate::tui::keymap::Action;
use crate::tui::theme::{Theme, ThemeChoice};
use crate::tui::view::{self, Look, View};

/// A look that no environment changes.
pub(super) fn look(glyphs: GlyphChoice, theme: ThemeChoice) -> Look {
    Look { theme: Theme::choose(theme, |_| None), glyphs: Glyphs::choose(glyphs, |_| None) }
}

/// A screen that shows a script as it stands.
pub(super) fn app(script: &mut Script) -> App {
    let mut app = App::new(Rate::per_second(250));
    app.observe(script.recording());
    app
}

/// A script that has found the ceiling.
pub(super) fn throttled() -> Script {
    let mut script = Script::new();
    script.active();
    script.set(Some(2_000), None);
    script.run(12);
    script.set(Some(6_000), None);
    script.event(EventKind::FirstThrottle, "1.84 s into the window of 6,000/s");
    script.run(25);
    script
}

/// Every state, by name.
pub(super) fn states() -> Vec<(&'static str, App)> {
    let mut states: Vec<(&'static str, App)> = vec![("no data", App::new(Rate::per_second(250)))];
    let mut script = Script::new();
    script.request(Some(1_000));
    states.push(("creating", app(&mut script)));
    script.phase(Phase::Seeding);
    states.push(("seeding", app(&mut script)));
    script.phase(Phase::Warming);
    states.push(("warming", app(&mut script)));
    script.active();
    script.set(Some(2_000), None);
    script.run(3);
    script.request(Some(2_500));
    states.push(("running", app(&mut script)));
    let mut script = throttled();
    script.failing = 20;
    script.run(3);
    states.push(("throttled", app(&mut script)));
    let mut frozen = app(&mut script);
    frozen.update(Action::Freeze);
    script.run(4);
    frozen.observe(script.recording());
    states.push(("frozen", frozen));
    script.set(None, None);
    script.phase(Phase::Paused);
    script.run(4);
    states.push(("paused", app(&mut script)));
    script.stop(StopReason::Quit);
    script.ledger();
    states.push(("draining", app(&mut script)));
    script.phase(Phase::Deleting);
    states.push(("deleting", app(&mut script)));
    script.phase(Phase::Finished);
    states.push(("finished", app(&mut script)));
    script.phase(Phase::Failed);
    states.push(("failed", app(&mut script)));
    let mut script = Script::new();
    script.active();
    script.shed_per_mille = 400;
    script.set(Some(3_000), None);
    script.run(10);
    states.push(("client-bound", app(&mut script)));
    let mut script = Script::new();
    script.active();
    script.plan(&[1_000, 2_000, 6_000, 8_000], 0);
    script.set(Some(1_000), Some(30));
    script.run(30);
    script.plan(&[1_000, 2_000, 6_000, 8_000], 2);
    script.set(Some(6_000), Some(30));
    script.run(11);
    states.push(("plan", app(&mut script)));
    let mut script = Script::new();
    script.active();
    script.set(Some(10_000_000), None);
    script.micros = 119_000_000;
    script.run(5);
    states.push(("extreme", app(&mut script)));
    states.push(("replay", replayed(&mut throttled(), true)));
    states
}

/// A screen on which a recorded session is played.
pub(super) fn replayed(script: &mut Script, paused: bool) -> App {
    let playback = Playback { kept: Kept::Journal, ends: Offset::from_secs(90), speed: 4, paused, skips: 0 };
    let mut app = App::new(Rate::per_second(250));
    app.observe(std::sync::Arc::new(Recording { playback: Some(playback), ..script.recording().as_ref().clone() }));
    app
}

/// Each overlay over a screen.
pub(super) fn with_overlay(app: &mut App, action: Action) {
    app.update(Action::Close);
    app.update(action);
}

fn draw(app: &App, look: &Look, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    view::draw(app, look, area, &mut buffer);
    buffer
}

#[test]
fn every_state_draws_at_every_size() {
    let looks = [
        look(GlyphChoice::Braille, ThemeChoice::Dark256),
        look(GlyphChoice::Ascii, ThemeChoice::Mono),
        look(GlyphChoice::Block, ThemeChoice::Ansi16),
    ];
    for (at, (_, app)) in states().into_iter().enumerate() {
        for width in (0..130).step_by(1 + 2 * (at % 3)) {
            for height in (0..45).step_by(1 + at % 2) {
                draw(&app, &looks[(usize::from(width) + at) % 3], width, height);
            }
        }
    }
}

#[test]
fn every_view_and_overlay_draws_at_every_size() {
    let look = look(GlyphChoice::Braille, ThemeChoice::Dark256);
    let sizes = || (0..130).step_by(7).flat_map(|w| (0..45).step_by(3).map(move |h| (w, h)));
    for (_, mut app) in states() {
        for view in View::ALL {
            app.update(Action::Show(view));
            sizes().for_each(|(w, h)| drop(draw(&app, &look, w, h)));
        }
        for overlay in [Action::Help, Action::PlanPicker, Action::RatePrompt, Action::Quit] {
            with_overlay(&mut app, overlay);
            app.update(Action::Type('x'));
            app.update(Action::ScrollOn);
            sizes().for_each(|(w, h)| drop(draw(&app, &look, w, h)));
        }
    }
}

#[test]
fn a_scrolled_view_draws_although_there_is_nothing_to_scroll() {
    let look = look(GlyphChoice::Block, ThemeChoice::Ansi16);
    for (_, mut app) in states() {
        for view in View::ALL {
            app.update(Action::Show(view));
            (0..300).for_each(|_| drop(app.update(Action::ScrollOn)));
            draw(&app, &look, 80, 24);
        }
    }
}

#[test]
fn what_is_simulated_says_so_in_every_view_and_tier() {
    let look = look(GlyphChoice::Ascii, ThemeChoice::Mono);
    let mut app = app(&mut throttled());
    for view in View::ALL {
        app.update(Action::Show(view));
        for (width, height) in [(200, 60), (100, 30), (80, 24), (60, 16), (24, 6), (60, 6), (24, 45), (10, 3)] {
            let text: String = draw(&app, &look, width, height).content.iter().map(ratatui::buffer::Cell::symbol).collect();
            assert!(text.contains("SIMULATED"), "{view:?} at {width}x{height}");
        }
    }
}

#[test]
fn a_client_that_is_not_the_default_is_named_in_every_view() {
    let look = look(GlyphChoice::Ascii, ThemeChoice::Mono);
    for (client, is_named) in [("sdk", true), ("wire", false)] {
        let mut script = throttled();
        script.begin(client);
        let mut app = app(&mut script);
        for view in View::ALL {
            app.update(Action::Show(view));
            for (width, height) in [(200, 60), (100, 30), (80, 24)] {
                let buffer = draw(&app, &look, width, height);
                let header: String = (0..width).map(|x| buffer[(x, 0)].symbol()).collect();
                assert_eq!(header.contains(&format!("client {client}")), is_named, "{view:?} at {width}x{height}: {header}");
            }
        }
    }
}

#[test]
fn a_number_is_never_shown_where_nothing_was_measured() {
    let look = look(GlyphChoice::Ascii, ThemeChoice::Mono);
    let app = app(&mut Script::new());
    for view in [View::Overview, View::Latency, View::Windows] {
        let mut app_of_view = App::new(Rate::per_second(250));
        app_of_view.observe(std::sync::Arc::clone(&app.newest));
        app_of_view.update(Action::Show(view));
        let text: String = draw(&app_of_view, &look, 100, 30).content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert!(!text.contains("0/s") && !text.contains(" 0 ms"), "{view:?}");
    }
}

#[test]
fn nothing_but_ascii_reaches_an_ascii_screen_and_no_control_character_any_other() {
    let mut script = throttled();
    script.failing = 5;
    script.run(2);
    script.event(EventKind::Warning, "\u{1b}]0;owned\u{7} caf\u{e9} \u{202e}gnp \u{4e2d}\u{6587}");
    let mut app = app(&mut script);
    for view in View::ALL {
        app.update(Action::Show(view));
        let ascii = draw(&app, &look(GlyphChoice::Ascii, ThemeChoice::Dark256), 120, 40);
        assert!(ascii.content.iter().all(|cell| cell.symbol().is_ascii()), "{view:?}");
        let braille = draw(&app, &look(GlyphChoice::Braille, ThemeChoice::Dark256), 120, 40);
        for cell in &braille.content {
            assert!(!cell.symbol().chars().any(crate::tui::glyphs::is_unprintable), "{view:?}: {:?}", cell.symbol());
        }
    }
}

#[test]
fn a_latency_of_two_hundred_microseconds_is_drawn_above_the_axis() {
    let mut script = Script::new();
    script.micros = 200;
    script.active();
    script.set(Some(1_000), None);
    script.run(20);
    let mut app = app(&mut script);
    app.update(Action::Show(View::Latency));
    let buffer = draw(&app, &look(GlyphChoice::Ascii, ThemeChoice::Mono), 80, 24);
    let rows: Vec<String> = (0..24).map(|y| (0..80).map(|x| buffer[(x, y)].symbol()).collect()).collect();
    let drawn = rows.iter().position(|row| row.matches('o').count() > 15).expect("the line of the median");
    let zero = rows.iter().position(|row| row.trim_start().starts_with("0+")).expect("the axis");
    assert!(drawn < zero, "{rows:#?}");
}

#[test]
fn the_clock_moves_even_when_nothing_completes() {
    let mut app = app(&mut throttled());
    let before = app.now();
    assert!(app.advance(Duration::from_millis(1_700)));
    assert_eq!(app.now().since(before), Duration::from_millis(1_700));
    assert!(!app.advance(Duration::from_millis(1_750)));
}
