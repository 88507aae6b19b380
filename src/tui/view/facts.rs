//! Facts that answer by themselves: time to ACTIVE, first throttle, and the refusal as the service worded it.

use super::text::{Piece, clean, piece, wrap};
use crate::load::{Refusal, Tally, Window};
use crate::report::{Phase, Recording};
use crate::tui::app::App;
use crate::tui::figures;
use crate::tui::theme::Role;

const LABEL: usize = 15;

/// A label in its column and a value.
pub(super) fn fact(label: &str, role: Role, value: impl Into<String>) -> Vec<Piece> {
    vec![piece(Role::Quiet, format!("{label:<LABEL$} ")), piece(role, value)]
}

/// The facts in lines of at most `width` columns.
pub(super) fn lines(app: &App, width: u16) -> Vec<Vec<Piece>> {
    let recording = &app.shown;
    let (role, active) = time_to_active(app);
    let mut lines = vec![fact("table ACTIVE", role, active)];
    let throttle = first_throttle(recording);
    let role = if throttle.is_some() { Role::Throttled } else { Role::Quiet };
    lines.push(fact("first throttle", role, throttle.unwrap_or_else(|| figures::NOTHING.to_owned())));
    match most_refused(recording) {
        None => lines.push(fact("refusal", Role::Quiet, figures::NOTHING)),
        Some(tally) => {
            let refusal = &tally.what;
            lines.push(fact("refusal", Role::Text, format!("{} {}", clean(&refusal.code), refusal.http_status)));
            let reasons = if refusal.reasons.is_empty() { "none given".to_owned() } else { clean(&refusal.reasons.join(", ")) };
            let column = LABEL as u16 + 1;
            if width < column + reasons.len() as u16 {
                // On a narrow screen the reason is worth more than its column.
                lines.extend(wrap(&format!("reason {reasons}"), width).into_iter().map(|line| vec![piece(Role::Text, line)]));
            } else {
                lines.push(fact("reason", Role::Text, reasons));
            }
            lines.extend(wrap(&refusal.message, width).into_iter().map(|line| vec![piece(Role::Quiet, line)]));
        }
    }
    lines
}

/// Time to ACTIVE: counting while the table is being created, then standing.
pub(super) fn time_to_active(app: &App) -> (Role, String) {
    let recording = &app.shown;
    let target = &recording.target;
    match (target.time_to_active_s, target.create_called) {
        (Some(seconds), _) => (Role::Strong, figures::seconds(Some(seconds))),
        (None, Some(called)) if matches!(recording.phase, Phase::Starting | Phase::Creating) => {
            (Role::Accent, format!("{:.1} s and counting", app.shown_now().since(called).as_secs_f64()))
        }
        (None, None) if !target.table.is_empty() && !target.created_by_session && recording.phase != Phase::Starting => {
            (Role::Quiet, "existing table".to_owned())
        }
        _ => (Role::Quiet, figures::NOTHING.to_owned()),
    }
}

/// The first throttle of the newest window that has one: `1.84 s @ 6,000/s`.
fn first_throttle(recording: &Recording) -> Option<String> {
    let window = recording.load.windows.iter().rev().find(|window| !window.is_adjusting() && window.first_throttle().is_some())?;
    Some(throttle_of(window))
}

/// A window's first throttle with its offered rate.
fn throttle_of(window: &Window) -> String {
    let seconds = window.first_throttle().map(|first| first.as_secs_f64());
    format!("{} @ {}/s", figures::seconds(seconds), window.spec.rate)
}

/// The refusal seen most often.
fn most_refused(recording: &Recording) -> Option<&Tally<Refusal>> {
    recording.load.refusals.iter().max_by_key(|tally| tally.count)
}
