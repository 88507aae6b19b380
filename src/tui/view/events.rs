//! Events: what happened, with the session's clock.

use ratatui::layout::Rect;

use super::text::{Canvas, Piece, clean, piece};
use crate::report::{Event, EventKind};
use crate::tui::app::App;
use crate::tui::theme::Role;
use crate::tui::{figures, forecast};

/// Draws the view: the newest event at the foot, scrolled back as asked.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let started = clean(&app.shown.session.started_at);
    let more = if started.is_empty() { String::new() } else { format!("T+0 = {started} ") };
    let area = canvas.heading(area, "events", &[piece(Role::Quiet, more)]);
    list(canvas, area, app, usize::from(app.scroll));
}

/// Draws the newest events beside other panels.
pub(super) fn newest(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let area = canvas.heading(area, "events", &[]);
    list(canvas, area, app, 0);
}

fn list(canvas: &mut Canvas<'_>, area: Rect, app: &App, back: usize) {
    let events = forecast::events(&app.shown);
    let room = usize::from(area.height);
    let end = events.len().saturating_sub(back).max(room.min(events.len()));
    let lines: Vec<Vec<Piece>> = events[end.saturating_sub(room)..end].iter().map(line).collect();
    if lines.is_empty() {
        canvas.line(area, 0, &[piece(Role::Quiet, "nothing has happened yet")]);
    }
    canvas.lines(area, &lines);
}

fn line(event: &Event) -> Vec<Piece> {
    let role = match event.kind {
        EventKind::Error => Role::Failed,
        EventKind::Warning | EventKind::FirstThrottle => Role::Throttled,
        EventKind::Phase | EventKind::Snapshot => Role::Strong,
        _ => Role::Text,
    };
    let tenths = event.at.nanos() / 100_000_000 % 10;
    vec![
        piece(Role::Quiet, format!("{:>9}.{tenths} ", figures::clock(event.at))),
        piece(Role::Quiet, format!("{:<15}", event.kind.name().replace('_', " "))),
        piece(role, clean(&event.detail)),
    ]
}
