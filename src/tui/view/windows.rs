//! Windows: the plan's table filling in as it runs.

use ratatui::layout::Rect;

use super::facts::fact;
use super::header::verdict;
use super::text::{Canvas, Piece, clean, cut, piece};
use crate::analysis::{Assessment, Caveat, VerdictKind};
use crate::load::{Quantiles, Rate, Window};
use crate::report::Recording;
use crate::report::facts::PlannedWindow;
use crate::tui::app::{App, plan_runs};
use crate::tui::theme::Role;
use crate::tui::{axis, figures};

/// A column: its title, its width, and whether it is left out on narrower screens.
struct Column {
    title: &'static str,
    width: usize,
    from_width: u16,
    left: bool,
}

const fn column(title: &'static str, width: usize, from_width: u16, left: bool) -> Column {
    Column { title, width, from_width, left }
}

const COLUMNS: [Column; 11] = [
    column("window", 12, 0, true),
    column("op", 6, 130, true),
    column("offered/s", 10, 0, false),
    column("accepted/s", 11, 0, false),
    column("sustained/s", 12, 0, false),
    column("+/-", 6, 96, false),
    column("burst", 7, 70, false),
    column("1st thr.", 9, 70, false),
    column("p50 ms", 7, 96, false),
    column("p99 ms", 8, 96, false),
    column("verdict", 15, 56, true),
];

/// Rows that the table would fill.
pub(super) fn rows_needed(app: &App) -> u16 {
    let recording = &app.shown;
    (recording.load.windows.len() + planned(recording).len()).min(200) as u16
}

/// Draws the table.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let recording = &app.shown;
    let title =
        recording.plan.as_ref().filter(|_| app.plan_runs() || recording.load.current().is_none_or(|w| w.spec.planned_end.is_some()));
    let more = title.map_or_else(|| " steered by hand ".to_owned(), |plan| plan_progress(app, plan));
    let area = canvas.heading(area, "windows", &[piece(Role::Quiet, more.trim_start())]);
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| area.width >= column.from_width).collect();
    let head: String = columns.iter().map(|column| pad(column, column.title)).collect();
    canvas.line(area, 0, &[piece(Role::Quiet, format!("  {head}"))]);
    let current = recording.load.current().map(|window| window.spec.id);
    let mut rows: Vec<Vec<Piece>> = Vec::new();
    let mut newest = 0;
    for window in &recording.load.windows {
        let found = recording.assessment.windows.iter().find(|found| found.window == window.spec.id);
        let is_current = current == Some(window.spec.id);
        rows.push(measured(canvas, &columns, window, found, is_current, app));
        newest = rows.len();
        if let Some(line) = caveats(found, area.width) {
            rows.push(line);
        }
    }
    rows.extend(planned(recording).iter().map(|window| ahead(&columns, window)));
    if rows.is_empty() {
        rows.push(vec![piece(Role::Quiet, "  no window was opened yet")]);
    }
    let room = usize::from(area.height.saturating_sub(1));
    let because = evidence(recording, area.width);
    if !recording.assessment.windows.is_empty() && rows.len() + 1 + because.len() <= room {
        rows.push(Vec::new());
        rows.extend(because);
    }
    // The newest window stays in sight unless the list is scrolled back.
    let fits = rows.len() <= room;
    let newest_last = if fits { 0 } else { newest.saturating_sub(room.saturating_sub(3).max(1)) };
    let first = newest_last.saturating_sub(usize::from(app.scroll));
    let table = Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area };
    canvas.lines(table, rows.iter().skip(first).take(room));
}

fn plan_progress(app: &App, plan: &crate::report::PlanFacts) -> String {
    let of = plan.windows.len();
    let name = clean(&plan.name);
    if !plan_runs(&app.shown) {
        return format!("plan {name} has ended ");
    }
    let at = (plan.next as usize + 1).min(of);
    let ends = plan
        .ends
        .map_or_else(String::new, |ends| format!(", ends T+{} in {}", figures::clock(ends), figures::span(ends.since(app.shown_now()))));
    format!("plan {name}, {at} of {of}{ends} ")
}

/// The windows of the plan that are still to come.
fn planned(recording: &Recording) -> &[PlannedWindow] {
    let Some(plan) = recording.plan.as_ref().filter(|_| plan_runs(recording)) else { return &[] };
    let open = recording.load.current().is_some_and(|window| window.spec.planned_end.is_some());
    plan.windows.get(plan.next as usize + usize::from(open)..).unwrap_or_default()
}

fn measured(canvas: &Canvas<'_>, columns: &[&Column], window: &Window, found: Option<&Assessment>, current: bool, app: &App) -> Vec<Piece> {
    let now = app.shown.load.rows.last().map_or(window.spec.start, |row| row.start.plus(crate::load::BUCKET));
    let elapsed = window.duration(now).as_secs_f64();
    let mean = (elapsed >= 1.0).then(|| window.counts.accepted as f64 / elapsed);
    let sustained = found.and_then(|found| found.sustained);
    let latency =
        if columns.iter().any(|column| column.title == "p50 ms") { window.response.accepted.quantiles() } else { Quantiles::default() };
    let pointer = if current { canvas.look.glyphs.pointer } else { " " };
    let base = if current { Role::Strong } else { Role::Text };
    let mut line = vec![piece(Role::Accent, format!("{pointer} "))];
    for column in columns {
        let (role, text) = match column.title {
            "window" => (base, cut(&window.spec.label, column.width - 1)),
            "op" => (Role::Quiet, window.spec.op.to_string()),
            "offered/s" => (base, offered(window.spec.rate, window.spec.ramp_to)),
            "accepted/s" => (Role::Accepted, mean.or(found.and_then(|f| f.accepted_per_s)).map_or_else(dash, figures::rate)),
            "sustained/s" => (Role::Strong, sustained.map_or_else(dash, |estimate| figures::rate(estimate.per_s))),
            "+/-" => (Role::Quiet, sustained.map_or_else(dash, |e| figures::rate((e.ci95.1 - e.ci95.0).abs() / 2.0))),
            "burst" => (base, found.and_then(|found| found.burst_units).map_or_else(dash, figures::rate)),
            "1st thr." => (
                if window.first_throttled_sent.is_some() { Role::Throttled } else { Role::Quiet },
                figures::seconds(window.first_throttle().map(|first| first.as_secs_f64())),
            ),
            "p50 ms" => (base, figures::ms(latency.p50)),
            "p99 ms" => (base, figures::ms(latency.p99)),
            _ => found.map_or_else(
                || piece(Role::Quiet, if current { "measuring ..." } else { "-" }),
                |found| (verdict(found.verdict.kind).0, short(found.verdict.kind).to_owned()),
            ),
        };
        line.push(piece(role, pad(column, &text)));
    }
    line
}

/// Why a window's figures should be doubted, on a line of its own.
fn caveats(found: Option<&Assessment>, width: u16) -> Option<Vec<Piece>> {
    let caveats: Vec<&str> = found?.verdict.caveats.iter().filter(|c| **c != Caveat::Simulated).map(|c| c.in_words()).collect();
    (!caveats.is_empty())
        .then(|| vec![piece(Role::Quiet, format!("    {}", cut(&caveats.join("; "), usize::from(width.saturating_sub(4)))))])
}

fn ahead(columns: &[&Column], window: &PlannedWindow) -> Vec<Piece> {
    let mut text = String::from("  ");
    for column in columns {
        text.push_str(&pad(
            column,
            &match column.title {
                "window" => cut(&window.label, column.width - 1),
                "op" => window.op.to_string(),
                "offered/s" => offered(window.offered_per_s, window.offered_to_per_s),
                "verdict" => format!("to come, {}", figures::span(std::time::Duration::from_secs_f64(window.duration_s.clamp(0.0, 1e6)))),
                _ => String::new(),
            },
        ));
    }
    vec![piece(Role::Quiet, text)]
}

/// A rate, or the ends of a ramp.
fn offered(rate: Rate, ramp_to: Option<Rate>) -> String {
    ramp_to.map_or_else(|| rate.to_string(), |to| format!("{}-{}", axis::label(rate.per_s()), axis::label(to.per_s())))
}

/// A verdict in a column.
fn short(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::CeilingNotReached => "not reached",
        other => other.name(),
    }
}

fn dash() -> String {
    figures::NOTHING.to_owned()
}

fn pad(column: &Column, text: &str) -> String {
    if column.left { format!(" {text:<width$}", width = column.width - 1) } else { format!("{text:>width$}", width = column.width) }
}

/// What the session shows, in lines, for the view of throttles and the target.
pub(super) fn evidence(recording: &Recording, width: u16) -> Vec<Vec<Piece>> {
    let found = &recording.assessment.verdict;
    let mut lines = vec![fact("verdict", Role::Strong, found.kind.name())];
    for sentence in &found.evidence {
        for (at, line) in super::text::wrap(sentence, width.saturating_sub(16)).into_iter().enumerate() {
            lines.push(fact(if at == 0 { "because" } else { "" }, Role::Text, line));
        }
    }
    for caveat in &found.caveats {
        lines.push(fact("but", Role::Warning, caveat.in_words()));
    }
    lines
}
