//! What screens look like: glyphs and styles.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::states::{app, look, replayed, states, throttled, with_overlay};
use crate::load::Offset;
use crate::report::{Claim, Entry, EventKind};
use crate::tui::app::App;
use crate::tui::fixtures::Script;
use crate::tui::glyphs::GlyphChoice::{self, Ascii, Block, Braille};
use crate::tui::keymap::Action;
use crate::tui::theme::ThemeChoice::{self, Ansi16, Dark256, Mono};
use crate::tui::view::{self, View};

/// A buffer as text, and below it each row's styles by runs: column, length, style.
fn dump(buffer: &Buffer) -> String {
    let (mut text, mut styles) = (String::new(), String::new());
    for y in buffer.area.top()..buffer.area.bottom() {
        let mut line = String::new();
        let mut runs: Vec<(u16, u16, String)> = Vec::new();
        for x in buffer.area.left()..buffer.area.right() {
            let cell = &buffer[(x, y)];
            line.push_str(cell.symbol());
            let style = styled(cell.fg, cell.bg, cell.modifier);
            match runs.last_mut() {
                Some((_, length, last)) if *last == style => *length += 1,
                _ => runs.push((x, 1, style)),
            }
        }
        text.push_str(&format!("|{line}|\n"));
        let runs: Vec<String> = runs.iter().filter(|run| run.2 != "-").map(|(x, n, style)| format!("{x}+{n} {style}")).collect();
        if !runs.is_empty() {
            styles.push_str(&format!("{y}: {}\n", runs.join(", ")));
        }
    }
    format!("{text}{styles}")
}

fn styled(fg: Color, bg: Color, modifier: Modifier) -> String {
    let mut parts = Vec::new();
    if fg != Color::Reset {
        parts.push(fg.to_string());
    }
    if bg != Color::Reset {
        parts.push(format!("on {bg}"));
    }
    if !modifier.is_empty() {
        parts.push(format!("{modifier:?}"));
    }
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}

fn drawn(app: &App, glyphs: GlyphChoice, theme: ThemeChoice, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    view::draw(app, &look(glyphs, theme), area, &mut buffer);
    dump(&buffer)
}

#[test]
fn the_overview_in_each_tier() {
    let app = app(&mut throttled());
    insta::assert_snapshot!("overview_100x30", drawn(&app, Braille, Dark256, 100, 30));
    insta::assert_snapshot!("overview_80x24_ascii_16", drawn(&app, Ascii, Ansi16, 80, 24));
    insta::assert_snapshot!("overview_60x16_mono", drawn(&app, Block, Mono, 60, 16));
    insta::assert_snapshot!("overview_24x6", drawn(&app, Ascii, Dark256, 24, 6));
    insta::assert_snapshot!("overview_too_small", drawn(&app, Ascii, Mono, 20, 5));
}

#[test]
fn the_other_views() {
    let mut script = throttled();
    script.failing = 7;
    script.event(EventKind::Warning, "the in-flight cap was reached");
    script.run(3);
    script.ledger();
    let mut app = app(&mut script);
    for view in View::ALL.into_iter().skip(1) {
        app.update(Action::Show(view));
        insta::assert_snapshot!(format!("{}_100x30", view.name()), drawn(&app, Ascii, Dark256, 100, 30));
    }
}

#[test]
fn a_plan_fills_its_table_in() {
    let (_, mut app) = states().into_iter().find(|(name, _)| *name == "plan").expect("a state");
    app.update(Action::Show(View::Windows));
    insta::assert_snapshot!("plan_80x24", drawn(&app, Ascii, Mono, 80, 24));
}

#[test]
fn states_before_and_after_the_load() {
    for (name, app) in states() {
        if ["creating", "running", "paused", "draining", "client-bound", "frozen"].contains(&name) {
            insta::assert_snapshot!(format!("{}_80x24", name.replace('-', "_")), drawn(&app, Ascii, Mono, 80, 24));
        }
    }
}

#[test]
fn the_forecast_is_in_its_place_before_and_after_it_came_true() {
    let mut script = Script::new();
    script.active();
    script.saved(3_000);
    script.set(Some(2_000), None);
    script.run(3);
    script.request(Some(5_000));
    insta::assert_snapshot!("forecast_asked_80x24", drawn(&app(&mut script), Ascii, Mono, 80, 24));
    insta::assert_snapshot!("forecast_asked_150x45", drawn(&app(&mut script), Ascii, Mono, 150, 45));
    script.set(Some(5_000), None);
    script.run(6);
    insta::assert_snapshot!("forecast_came_60x16", drawn(&app(&mut script), Ascii, Mono, 60, 16));
    script.capacity = 20_000;
    script.set(Some(8_000), None);
    script.run(4);
    insta::assert_snapshot!("forecast_missed_100x30", drawn(&app(&mut script), Ascii, Mono, 100, 30));
}

#[test]
fn a_replay_says_that_it_is_one_and_where_it_is() {
    for paused in [true, false] {
        let name = if paused { "replay_paused_80x24" } else { "replay_playing_80x24" };
        insta::assert_snapshot!(name, drawn(&replayed(&mut throttled(), paused), Ascii, Mono, 80, 24));
    }
    let mut app = replayed(&mut throttled(), true);
    app.update(Action::RateUp);
    insta::assert_snapshot!("replay_refuses_60x16", drawn(&app, Ascii, Mono, 60, 16));
}

#[test]
fn what_the_service_said_of_the_table_is_among_its_facts() {
    let mut script = throttled();
    for (secs, units) in [(8, 4_000), (23, 4_000), (38, 5_000)] {
        let at = Offset::from_secs(secs);
        let claim = Claim { at, last: at, status: "ACTIVE".to_owned(), warm_throughput: Some((units, 12_000)), ..Claim::default() };
        script.apply(&Entry::Claim(claim));
    }
    let mut app = app(&mut script);
    app.update(Action::Show(View::Target));
    insta::assert_snapshot!("claims_120x36", drawn(&app, Ascii, Mono, 120, 36));
}

#[test]
fn overlays() {
    let mut app = app(&mut throttled());
    for (name, action) in
        [("help", Action::Help), ("plans", Action::PlanPicker), ("prompt", Action::RatePrompt), ("question", Action::Quit)]
    {
        with_overlay(&mut app, action);
        if name == "prompt" {
            "fast".chars().for_each(|c| drop(app.update(Action::Type(c))));
            app.update(Action::Submit);
        }
        insta::assert_snapshot!(format!("{name}_80x24"), drawn(&app, Ascii, Dark256, 80, 24));
    }
}

#[test]
fn the_monochrome_theme_draws_no_colour_at_all() {
    for (name, app) in states() {
        for (width, height) in [(100, 30), (60, 16), (24, 6)] {
            let area = Rect::new(0, 0, width, height);
            let mut buffer = Buffer::empty(area);
            view::draw(&app, &look(Braille, Mono), area, &mut buffer);
            assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset), "{name}");
        }
    }
}

#[test]
fn colours_are_named_in_the_theme_alone_and_symbols_in_the_glyphs_alone() {
    let mut files = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tui"))];
    let mut read = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
            continue;
        }
        let text = path.to_string_lossy().into_owned();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let tests = text.contains("/tests/") || name == "fixtures.rs";
        if path.extension().is_none_or(|extension| extension != "rs") || tests {
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("a source");
        let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        read += 1;
        assert!(name == "theme.rs" || !code.contains("Color::"), "{text} names a colour");
        assert!(code.is_ascii(), "{text} holds a symbol");
        assert!(name == "glyphs.rs" || !code.contains("\\u{2"), "{text} names a symbol");
        assert!(name == "terminal.rs" || !code.contains("execute!"), "{text} writes escape codes");
        assert!(!code.contains(".clear()?") && !code.contains("get_cursor_position") && !code.contains("EventStream"), "{text}");
    }
    assert!(read > 20, "{read}");
}

#[test]
fn a_silent_second_leaves_a_gap_and_a_dash() {
    let mut script = Script::new();
    script.active();
    script.set(Some(1_000), None);
    script.run(5);
    script.set(None, None);
    script.run(3);
    let app = app(&mut script);
    let text = drawn(&app, Ascii, Mono, 100, 30);
    let p99 = text.lines().find(|line| line.starts_with("| p99")).expect("a row");
    assert!(p99.contains(" -"), "{p99}");
}
