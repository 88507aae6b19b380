//! Throttles and failures: the anatomy of what was refused.

use ratatui::layout::Rect;

use super::facts::fact;
use super::text::{Canvas, Piece, clean, piece, wrap};
use super::windows::evidence;
use crate::load::{Failure, Refusal, Tally};
use crate::tui::app::App;
use crate::tui::figures;
use crate::tui::theme::Role;

/// Draws the view.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let totals = &app.shown.load.totals;
    let count = |count: u64| if totals.offered > 0 { figures::count(count) } else { figures::NOTHING.to_owned() };
    let role = |count: u64, role| if count > 0 { role } else { Role::Quiet };
    let more = [
        piece(
            role(totals.throttled, Role::Throttled),
            format!("throttled {} ({})", count(totals.throttled), figures::percent(totals.throttled, totals.completed())),
        ),
        piece(role(totals.failed, Role::Failed), format!("  failed {}", count(totals.failed))),
        piece(role(totals.timed_out, Role::Failed), format!("  timed out {}", count(totals.timed_out))),
        piece(role(totals.shed, Role::Warning), format!("  shed {} ", count(totals.shed))),
    ];
    let area = canvas.heading(area, "throttles", &more);
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    for (index, tally) in app.shown.load.refusals.iter().enumerate() {
        let judged = app.shown.assessment.throttling.get(index);
        let cause = judged.map_or_else(|| tally.what.cause().in_words().to_owned(), |j| format!("{}: {}", j.limit, j.meaning));
        refusal(&mut lines, tally, &cause, area.width);
    }
    if app.shown.load.refusals.is_empty() {
        lines.push(vec![piece(Role::Quiet, "nothing was throttled yet")]);
        lines.push(Vec::new());
    }
    for tally in app.shown.load.failures.iter() {
        failure(&mut lines, tally, area.width);
    }
    if totals.shed > 0 {
        lines.push(fact("shed", Role::Warning, "due but not sent: the in-flight cap or the late limit of this client, not the service"));
        lines.push(Vec::new());
    }
    lines.extend(evidence(&app.shown, area.width));
    canvas.lines(area, lines.iter().skip(usize::from(app.scroll).min(lines.len().saturating_sub(1))).take(area.height.into()));
}

fn refusal(lines: &mut Vec<Vec<Piece>>, tally: &Tally<Refusal>, cause: &str, width: u16) {
    let refusal = &tally.what;
    lines.push(vec![
        piece(Role::Throttled, clean(&refusal.code)),
        piece(Role::Text, format!("  HTTP {}", refusal.http_status)),
        piece(Role::Strong, times(tally.count)),
    ]);
    wrapped(lines, "cause", Role::Strong, cause, width);
    let reasons = if refusal.reasons.is_empty() { "none given".to_owned() } else { refusal.reasons.join(", ") };
    wrapped(lines, "reason", Role::Text, &reasons, width);
    if let Some(resource) = &refusal.resource {
        wrapped(lines, "resource", Role::Text, resource, width);
    }
    wrapped(lines, "message", Role::Text, &refusal.message, width);
    seen(lines, tally);
    if refusal.http_status < 500 {
        let note = format!("a monitor that alarms on 5xx only stays green: these are HTTP {}", refusal.http_status);
        wrapped(lines, "note", Role::Quiet, &note, width);
    }
    lines.push(Vec::new());
}

fn failure(lines: &mut Vec<Vec<Piece>>, tally: &Tally<Failure>, width: u16) {
    let failure = &tally.what;
    let status = failure.http_status.map_or_else(String::new, |status| format!("  HTTP {status}"));
    let code = failure.code.as_deref().map_or_else(String::new, |code| format!("  {}", clean(code)));
    lines.push(vec![
        piece(Role::Failed, format!("failed: {}", failure.kind.name().replace('_', " "))),
        piece(Role::Text, format!("{code}{status}")),
        piece(Role::Strong, times(tally.count)),
    ]);
    wrapped(lines, "message", Role::Text, &failure.message, width);
    seen(lines, tally);
    lines.push(Vec::new());
}

/// How often; a document played does not tell it of a moment where there were several kinds.
fn times(count: u64) -> String {
    if count == 0 { "  how often is not known".to_owned() } else { format!("  {} times", figures::count(count)) }
}

fn seen<T>(lines: &mut Vec<Vec<Piece>>, tally: &Tally<T>) {
    lines.push(fact("seen", Role::Text, format!("first T+{:.2} s, last T+{:.2} s", tally.first.secs(), tally.last.secs())));
}

fn wrapped(lines: &mut Vec<Vec<Piece>>, label: &str, role: Role, text: &str, width: u16) {
    for (at, line) in wrap(text, width.saturating_sub(16)).into_iter().enumerate() {
        lines.push(fact(if at == 0 { label } else { "" }, role, line));
    }
}
