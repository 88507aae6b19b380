//! The smallest screens: figures only, and a word where not even those fit.

use ratatui::layout::Rect;

use super::footer::ending;
use super::header::{answer, now_counts, phase, setpoint, stamps};
use super::text::{Canvas, Piece, fit, piece};
use crate::load::Counts;
use crate::tui::app::App;
use crate::tui::figures;
use crate::tui::layout::Tier;
use crate::tui::overlay::{Overlay, Question};
use crate::tui::theme::Role;

/// Draws the figures, or that there is no room for them.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App, tier: Tier) {
    let lines = if tier == Tier::TooSmall { too_small(app, area.width) } else { figures(app, area) };
    canvas.lines(area, &lines);
}

fn too_small(app: &App, width: u16) -> Vec<Vec<Piece>> {
    if let Some(asked) = asked(app) {
        return vec![vec![piece(Role::Warning, asked)]];
    }
    let mut words = vec![(2, vec![piece(Role::Strong, "too small")])];
    words.extend(stamps(app).into_iter().map(|(role, text)| (0, vec![(role, text.trim().to_owned())])));
    vec![fit(words, width), vec![piece(Role::Text, "24x6 fits")], vec![piece(Role::Key, "q"), piece(Role::Text, " quits")]]
}

fn figures(app: &App, area: Rect) -> Vec<Vec<Piece>> {
    let width = area.width;
    let now = now_counts(&app.shown);
    let rate = |count: fn(&Counts) -> u64| figures::per_s(now.as_ref().map(|counts| count(counts) as f64));
    let stamps = stamps(app).into_iter().map(|(role, text)| (0, vec![(role, text.trim().to_owned())]));
    let mut first: Vec<(u8, Vec<Piece>)> = stamps.collect();
    first.push((1, vec![phase(app)]));
    first.push((2, vec![piece(Role::Quiet, figures::clock(app.shown_now()))]));
    let share = now.map_or(String::new(), |counts| figures::percent(counts.throttled, counts.completed()));
    let throttled = if now.is_some_and(|counts| counts.throttled > 0) { Role::Throttled } else { Role::Text };
    let row = |label: &str, role, text: String| vec![piece(Role::Quiet, format!("{label:<10}")), piece(role, format!("{text:>8}"))];
    let last = if let Some(asked) = asked(app) {
        vec![piece(Role::Warning, asked)]
    } else if app.is_stopping() {
        fit(ending(app), width)
    } else if let Some(notice) = app.notice() {
        vec![piece(if notice.warning { Role::Warning } else { Role::Chosen }, notice.text.clone())]
    } else {
        fit(answer(app), width)
    };
    let (role, text) = setpoint(app);
    let mut throttled_row = row("throttled", throttled, rate(|c| c.throttled));
    throttled_row.push(piece(throttled, format!(" {}", share.replace(' ', ""))));
    let mut lines = vec![
        fit(first, width),
        row("rate", role, text.trim().to_owned()),
        row("accepted", Role::Accepted, rate(|c| c.accepted)),
        throttled_row,
        last,
    ];
    if area.height > 6 {
        lines.push(row("offered", Role::Offered, rate(|c| c.offered)));
        let p99 = app.shown.load.rows.last().and_then(|row| row.response.p99);
        lines.push(row("p99", Role::Text, format!("{} ms", figures::ms(p99))));
    }
    let (key, does) = if app.playback().is_some() { ("space", " pause") } else { ("up/dn", " rate") };
    lines.push(vec![piece(Role::Key, "q"), piece(Role::Quiet, " quit "), piece(Role::Key, key), piece(Role::Quiet, does)]);
    lines
}

/// An open overlay in one line, so that no key acts unseen.
fn asked(app: &App) -> Option<String> {
    Some(match app.overlay.as_ref()? {
        Overlay::Question(Question::Quit, _) => "stop? y, Esc no".to_owned(),
        Overlay::Question(Question::LeavePlan(_), _) => "end plan? y, Esc no".to_owned(),
        Overlay::Prompt(prompt) if prompt.error.is_empty() => format!("rate: {}_", prompt.text),
        Overlay::Prompt(prompt) => prompt.error.clone(),
        Overlay::Plans(chosen) => {
            let name = crate::plan::presets().get(*chosen).map_or("", |preset| preset.plan.name.as_str());
            format!("plan {name}? Enter")
        }
        Overlay::Help(_) => "Esc closes the help".to_owned(),
    })
}
