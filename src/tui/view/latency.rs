//! Latency: medians and 99th percentiles over time, and the quantiles of a window.

use ratatui::layout::Rect;

use super::rate_chart::span_label;
use super::text::{Canvas, Piece, clean, fit, piece};
use super::time_chart::TimeChart;
use crate::load::snapshot::Pair;
use crate::load::{Quantiles, Row};
use crate::tui::app::App;
use crate::tui::figures;
use crate::tui::layout::split_bottom;
use crate::tui::plot::{Layer, Trace};
use crate::tui::series::Series;
use crate::tui::theme::Role;

/// Latency of the newest second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Now {
    /// `done - sent` of accepted requests.
    pub(super) service: Pair,
    /// `done - intended` of accepted requests.
    pub(super) response: Pair,
    /// `done - sent` of throttled requests.
    pub(super) refused: Pair,
}

/// Latency of the newest second; nothing once no load runs.
pub(super) fn now(app: &App) -> Now {
    let recording = &app.shown;
    if !recording.phase.has_load() {
        return Now::default();
    }
    let row = recording.load.rows.last();
    let refused = row.map(|row| row.throttled_service).unwrap_or_default();
    let live = &recording.load.live;
    if live.last_second.is_some() {
        let pair = |q: &Quantiles| Pair { p50: q.p50, p99: q.p99 };
        return Now { service: pair(&live.service), response: pair(&live.response), refused };
    }
    row.map_or_else(Now::default, |row| Now { service: row.service, response: row.response, refused })
}

/// Draws the view: the chart above, the quantiles below.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let below = if area.height >= 18 { 9 } else { 0 };
    let (upper, lower) = split_bottom(area, below);
    chart(canvas, upper, app);
    if below > 0 {
        quantiles(canvas, lower, app);
    }
}

/// Draws the chart with its heading.
pub(super) fn chart(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let (rows, from, to) = app.rows_in_sight();
    let of = |value: fn(&Row) -> Option<f64>| Series::of(rows, value);
    let response = [of(|row| row.response.p50), of(|row| row.response.p99)];
    let service = [of(|row| row.service.p50), of(|row| row.service.p99)];
    let [line, dots] = canvas.look.glyphs.samples;
    let legend = vec![
        (0, vec![piece(Role::Offered, line), piece(Role::Quiet, " response")]),
        (0, vec![piece(Role::Accepted, dots), piece(Role::Quiet, " service")]),
        (1, vec![piece(Role::Quiet, "p50 and p99 of accepted")]),
        (2, vec![piece(Role::Quiet, format!("[{}] ", span_label(app)))]),
    ];
    let field = canvas.heading(area, "latency ms", &fit(legend, area.width.saturating_sub(13)));
    if service.iter().chain(&response).all(|series| series.last().is_none()) {
        canvas.line(field, field.height / 2, &[piece(Role::Quiet, "no request was accepted in this time")]);
        return;
    }
    let mut newest = Vec::new();
    for (series, name) in [(&response[0], "50"), (&response[1], "99")] {
        if let Some(point) = series.last() {
            newest.push((point.value, Role::Text, format!("{name} {:>5}", figures::ms(Some(point.value)))));
        }
    }
    let edges: Vec<f64> = app.shown.load.windows.iter().map(|window| window.spec.start.secs()).collect();
    let layer = |series, role, mark| Layer { series, trace: Trace::Line, role, mark };
    let layers = [
        layer(&response[0], Role::Offered, '.'),
        layer(&response[1], Role::Offered, '-'),
        layer(&service[0], Role::Accepted, 'o'),
        layer(&service[1], Role::Accepted, '+'),
    ];
    TimeChart { from, to, scale: &app.latency_scale, layers: &layers, newest: &newest, edges: &edges }.draw(canvas, field);
}

/// Draws the quantiles of the newest window.
fn quantiles(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let window = app.shown.load.windows.last();
    let label = window.map_or_else(|| figures::NOTHING.to_owned(), |window| clean(&window.spec.label));
    let area = canvas.heading(area, "quantiles ms", &[piece(Role::Quiet, format!("window {label} "))]);
    let head = format!("{:<20}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}", "", "p50", "p90", "p99", "p99.9", "max", "count");
    let mut lines = vec![vec![piece(Role::Quiet, head)]];
    let none = Quantiles::default();
    let rows = [
        ("accepted service", window.map(|w| w.service.accepted.quantiles()), Role::Accepted),
        ("accepted response", window.map(|w| w.response.accepted.quantiles()), Role::Text),
        ("throttled service", window.map(|w| w.service.throttled.quantiles()), Role::Text),
        ("throttled response", window.map(|w| w.response.throttled.quantiles()), Role::Text),
        ("failed service", window.map(|w| w.service.other.quantiles()), Role::Text),
    ];
    lines.extend(rows.into_iter().map(|(label, quantiles, role)| row(label, quantiles.unwrap_or(none), role)));
    if let Some(window) = window {
        let late = window.client.schedule_error.quantiles();
        lines.push(vec![
            piece(Role::Quiet, format!("{:<20}", "client sent late by")),
            piece(
                Role::Text,
                format!(
                    "{:>9}{:>9}{:>9}{:>9}{:>9}",
                    figures::ms(late.p50),
                    figures::ms(late.p90),
                    figures::ms(late.p99),
                    figures::ms(late.p999),
                    figures::ms(late.max)
                ),
            ),
        ]);
    }
    canvas.lines(area, &lines);
}

fn row(label: &str, q: Quantiles, role: Role) -> Vec<Piece> {
    let values: String =
        [q.p50, q.p90, q.p99, q.p999, q.max].iter().fold(String::new(), |text, value| text + &format!("{:>9}", figures::ms(*value)));
    let count = if q.count > 0 { figures::count(q.count) } else { figures::NOTHING.to_owned() };
    vec![piece(Role::Quiet, format!("{label:<20}")), piece(role, format!("{values}{count:>12}"))]
}
