//! The overview: the chart as evidence, latency beside it, and the facts.

use ratatui::layout::Rect;

use super::text::{Canvas, Piece, piece};
use super::{events, facts, forecast, latency, rate_chart, windows};
use crate::tui::app::App;
use crate::tui::figures;
use crate::tui::layout::{Tier, split_bottom, split_left, split_top};
use crate::tui::theme::Role;

/// Columns of the latency table.
const LATENCY: u16 = 33;

/// Draws the overview.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App, tier: Tier) {
    match tier {
        Tier::Wide => wide(canvas, area, app),
        Tier::Full | Tier::Standard => {
            let lower = if tier == Tier::Full { 10 } else { 8 };
            let (upper, below) = split_bottom(area, lower);
            let (chart, row) = split_bottom(upper, 1);
            rate_chart::draw(canvas, chart, app);
            canvas.line(row, 0, &forecast::line(app, row.width));
            let (left, right) = split_left(below, LATENCY, 2);
            latency_now(canvas, left, app);
            table_facts(canvas, right, app);
        }
        _ => {
            let (chart, below) = split_bottom(area, 3);
            rate_chart::draw(canvas, chart, app);
            let lines = facts::lines(app, below.width);
            canvas.lines(below, lines.iter().take(2));
            canvas.line_right(below, 0, &latency_short(app));
            canvas.line(below, 2, &forecast::line(app, below.width));
        }
    }
}

fn wide(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let (left, right) = split_left(area, area.width * 11 / 20, 3);
    let (upper, latencies) = split_top(left, area.height * 11 / 20);
    let (rates, row) = split_bottom(upper, 1);
    rate_chart::draw(canvas, rates, app);
    canvas.line(row, 0, &forecast::line(app, row.width));
    latency::chart(canvas, latencies, app);
    let lines = facts::lines(app, right.width);
    let (upper, rest) = split_top(right, (lines.len() as u16 + 2).min(14));
    table_facts(canvas, upper, app);
    let (middle, rest) = split_top(rest, 7);
    latency_now(canvas, middle, app);
    let rows = windows::rows_needed(app).saturating_add(4).min(rest.height / 2);
    let (table, rest) = split_top(rest, rows);
    windows::draw(canvas, table, app);
    events::newest(canvas, rest, app);
}

fn table_facts(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let rest = canvas.heading(area, "table", &[]);
    let mut lines = facts::lines(app, rest.width);
    if lines.len() > usize::from(rest.height) {
        lines.truncate(usize::from(rest.height.saturating_sub(1)));
        lines.push(vec![piece(Role::Key, "4"), piece(Role::Quiet, " shows all of it")]);
    }
    canvas.lines(rest, &lines);
}

/// Latency of the newest second: service and response, and how quick refusals were.
fn latency_now(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let area = canvas.heading(area, "latency ms", &[piece(Role::Quiet, "last second ")]);
    let now = latency::now(app);
    let head = format!("{:<5}{:>9}{:>10}{:>9}", "", "service", "response", "refusals");
    let row = |label: &str, values: [Option<f64>; 3], role| {
        let [service, response, refusals] = values.map(figures::ms);
        vec![piece(Role::Quiet, format!("{label:<5}")), piece(role, format!("{service:>9}{response:>10}{refusals:>9}"))]
    };
    let mut lines = vec![
        vec![piece(Role::Quiet, head)],
        row("p50", [now.service.p50, now.response.p50, now.refused.p50], Role::Text),
        row("p99", [now.service.p99, now.response.p99, now.refused.p99], Role::Strong),
    ];
    if let Some(window) = app.shown.load.windows.last() {
        let (service, response) = (window.service.accepted.quantiles(), window.response.accepted.quantiles());
        let refused = window.service.throttled.quantiles();
        let label = window.spec.label.chars().take(24).collect::<String>();
        lines.push(vec![piece(Role::Quiet, format!("window {}", super::text::clean(&label)))]);
        lines.push(row("p50", [service.p50, response.p50, refused.p50], Role::Text));
        lines.push(row("p99", [service.p99, response.p99, refused.p99], Role::Text));
    }
    canvas.lines(area, &lines);
}

fn latency_short(app: &App) -> Vec<Piece> {
    let now = latency::now(app);
    vec![
        piece(Role::Quiet, "ms p50 "),
        piece(Role::Text, format!("{:>5}", figures::ms(now.response.p50))),
        piece(Role::Quiet, " p99 "),
        piece(Role::Strong, format!("{:>5}", figures::ms(now.response.p99))),
    ]
}
