//! The footer: keys that work right now, and above it what the session has just said.

use ratatui::layout::Rect;

use super::header::in_flight;
use super::text::{Canvas, Piece, clean, cut, fit, piece};
use crate::report::Phase;
use crate::tui::app::App;
use crate::tui::figures;
use crate::tui::keymap::{self, Action, Binding, Group};
use crate::tui::steering::Wish;
use crate::tui::stopping::Stopping;
use crate::tui::theme::Role;

/// Draws the keys.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let row = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let groups = keymap::footer(app.context())
        .filter(|(binding, ..)| !app.is_stopping() || works_to_the_end(binding))
        .map(|(_, place, hint)| {
            let (key, text) = hint.rsplit_once(' ').unwrap_or((hint, ""));
            let (key, text) = if key == "space" { (key, space(app)) } else { (key, text) };
            (place, vec![piece(Role::Key, key), piece(Role::Quiet, format!(" {text}"))])
        })
        .collect();
    canvas.line(row, 0, &fit(groups, row.width));
}

/// Whether a key does something while the session is stopping.
fn works_to_the_end(binding: &Binding) -> bool {
    binding.group == Group::Display && binding.action != Action::Freeze
        || binding.action == Action::Help
        || binding.group == Group::Overlays
}

/// What the space bar does now.
fn space(app: &App) -> &'static str {
    let rests = app.steering.wanted() == Some(Wish::Rest) && !app.plan_runs();
    match app.playback() {
        Some(playback) if playback.paused => "play",
        None if rests => "resume",
        _ => "pause",
    }
}

/// Draws what the session has just said, or how its end is coming on, over the last row of the view.
pub(super) fn notice(canvas: &mut Canvas<'_>, body: Rect, app: &App) {
    if body.height == 0 {
        return;
    }
    let row = Rect { y: body.bottom() - 1, height: 1, ..body };
    if app.is_stopping() {
        canvas.blank(row);
        canvas.line(row, 0, &fit(ending(app), row.width));
    }
    if let Some(notice) = app.notice() {
        let role = if notice.warning { Role::Warning } else { Role::Chosen };
        let row = if app.is_stopping() && body.height > 1 { Rect { y: row.y - 1, ..row } } else { row };
        let text = cut(&notice.text, usize::from(row.width.saturating_sub(2)));
        canvas.blank(row);
        canvas.line(row, 0, &[piece(role, format!(" {text} "))]);
    }
}

/// How the end of the session is coming on.
pub(super) fn ending(app: &App) -> Vec<(u8, Vec<Piece>)> {
    let newest = &app.newest;
    let since = figures::seconds(Some(app.now().since(newest.phase_since).as_secs_f64()));
    let table = clean(&newest.target.table);
    let doing = match newest.phase {
        Phase::Draining => {
            let level = in_flight(newest).map_or_else(|| figures::NOTHING.to_owned(), |level| figures::count(level.into()));
            format!("draining {level} in flight, {since}")
        }
        Phase::Deleting if newest.target.deleted => format!("table {table} is being deleted, waiting until it is gone, {since}"),
        Phase::Deleting => format!("deleting table {table}, {since}"),
        Phase::Finished => "finished".to_owned(),
        Phase::Failed => "failed".to_owned(),
        _ => "stopping the load ...".to_owned(),
    };
    let mut groups = vec![(0, vec![piece(Role::Warning, doing)])];
    if let Some(reason) = &newest.stop_reason {
        groups.push((2, vec![piece(Role::Quiet, clean(&reason.in_words()))]));
    }
    let next = match app.stopping {
        Stopping::Abandoned { .. } => "abandoned: not waiting any more",
        Stopping::Sent { warned: true, .. } => "Ctrl-C again abandons",
        _ => "Ctrl-C twice abandons",
    };
    groups.push((1, vec![piece(Role::Quiet, next)]));
    groups
}
