//! The rate chart: offered, accepted and throttled over time.

use ratatui::layout::Rect;

use super::text::{Canvas, fit, piece};
use super::time_chart::TimeChart;
use crate::load::Row;
use crate::tui::app::{App, SPANS, per_second};
use crate::tui::figures;
use crate::tui::plot::{Layer, Trace};
use crate::tui::series::Series;
use crate::tui::theme::Role;

/// Draws the rate chart with its heading.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let (rows, from, to) = app.rows_in_sight();
    let of = |count: fn(&Row) -> u64| Series::of(rows, |row| Some(per_second(row, count(row))));
    let offered = of(|row| row.counts.offered);
    let accepted = of(|row| row.counts.accepted);
    let throttled = of(|row| row.counts.throttled);
    let failed = of(|row| row.counts.failed + row.counts.timed_out);
    let fails = failed.max_since(from).is_some_and(|most| most > 0.0);
    let glyphs = canvas.look.glyphs;
    let [line, dots] = glyphs.samples;
    let mut legend = vec![
        (0, vec![piece(Role::Offered, line), piece(Role::Quiet, " offered")]),
        (0, vec![piece(Role::Accepted, dots), piece(Role::Quiet, " accepted")]),
        (0, vec![piece(Role::Throttled, glyphs.mark), piece(Role::Quiet, " throttled")]),
    ];
    if fails {
        legend.push((1, vec![piece(Role::Failed, "x"), piece(Role::Quiet, " failed")]));
    }
    let ceiling = ceiling(app, from, to);
    if ceiling.last().is_some() {
        legend.push((1, vec![piece(Role::Quiet, "--"), piece(Role::Quiet, " sustained")]));
    }
    legend.push((2, vec![piece(Role::Quiet, format!("[{}] ", span_label(app)))]));
    let field = canvas.heading(area, "ops/s", &fit(legend, area.width.saturating_sub(8)));
    if rows.is_empty() {
        canvas.line(field, field.height / 2, &[piece(Role::Quiet, "no second of load is complete yet")]);
        return;
    }
    let mut newest = Vec::new();
    for (series, role) in [(&offered, Role::Offered), (&accepted, Role::Accepted), (&throttled, Role::Throttled)] {
        // A zero needs no label but that of the load itself.
        if let Some(point) = series.last().filter(|point| point.value > 0.0 || role == Role::Offered) {
            newest.push((point.value, role, figures::rate(point.value)));
        }
    }
    let edges: Vec<f64> = app.shown.load.windows.iter().map(|window| window.spec.start.secs()).collect();
    let layers = [
        Layer { series: &ceiling, trace: Trace::Steps, role: Role::Quiet, mark: '=' },
        Layer { series: &offered, trace: Trace::Steps, role: Role::Offered, mark: '-' },
        Layer { series: &accepted, trace: Trace::Steps, role: Role::Accepted, mark: 'o' },
        Layer { series: &throttled, trace: Trace::Marks, role: Role::Throttled, mark: '*' },
        Layer { series: &failed, trace: Trace::Marks, role: Role::Failed, mark: 'x' },
    ];
    TimeChart { from, to, scale: &app.rate_scale, layers: &layers, newest: &newest, edges: &edges }.draw(canvas, field);
}

/// The saturated ceiling of the operation that is offered, as far as it is known.
fn ceiling(app: &App, from: f64, to: f64) -> Series {
    let load = &app.shown.load;
    let found = &app.shown.assessment;
    let op_of = |id| load.windows.iter().find(|window| window.spec.id == id).map(|window| window.spec.op);
    let measured = found.windows.iter().rev().find(|one| one.sustained.is_some()).and_then(|one| op_of(one.window));
    let offered = load.windows.last().map(|window| window.spec.op);
    match found.sustained.filter(|_| measured == offered) {
        Some(sustained) => Series::level(from, to, sustained.per_s, (to - from) / 36.0),
        None => Series::default(),
    }
}

/// The time that charts show.
pub(super) fn span_label(app: &App) -> String {
    match SPANS.get(app.span).copied().flatten() {
        Some(span) => figures::span(std::time::Duration::from_secs(span.into())),
        None => "all".to_owned(),
    }
}
