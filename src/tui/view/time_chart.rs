//! A chart over time: value axis on the left, seconds since the session's start below, newest values on the right.

use ratatui::layout::Rect;

use super::text::{Canvas, piece};
use crate::tui::axis::{self, Scale};
use crate::tui::layout::split_bottom;
use crate::tui::plot::{Frame, Layer, Plot};
use crate::tui::theme::Role;

/// Columns of the value axis, its line included.
const AXIS: u16 = 6;
/// Columns of the newest values.
const NEWEST: u16 = 9;

/// What a chart shows.
#[derive(Debug)]
pub(super) struct TimeChart<'a> {
    /// Left edge, seconds since the session's start.
    pub(super) from: f64,
    /// Right edge.
    pub(super) to: f64,
    /// Value axis.
    pub(super) scale: &'a Scale,
    /// Series, in the order in which they are drawn.
    pub(super) layers: &'a [Layer<'a>],
    /// Newest value of some of them: where it lies, its colour, its text.
    pub(super) newest: &'a [(f64, Role, String)],
    /// Instants to mark on the time axis: window edges.
    pub(super) edges: &'a [f64],
}

impl TimeChart<'_> {
    /// Draws the chart.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) {
        if area.width < AXIS + 4 || area.height < 4 {
            return;
        }
        let newest = if area.width >= 50 { NEWEST } else { 0 };
        let (upper, foot) = split_bottom(area, 2);
        let field = Rect { x: upper.x + AXIS, width: upper.width - AXIS - newest, ..upper };
        let frame = Frame { from: self.from, to: self.to, top: self.scale.top() };
        let mut plot = Plot::new(canvas.look.glyphs, frame, field.width, field.height);
        self.layers.iter().for_each(|layer| plot.draw(*layer));
        self.value_axis(canvas, upper, &plot);
        plot.render(field, canvas.buffer, &canvas.look.theme);
        self.time_axis(canvas, Rect { x: field.x, width: field.width, ..foot }, &plot);
        if newest > 0 {
            let right = Rect { x: field.right() + 1, width: newest - 1, ..upper };
            self.newest_values(canvas, right, &plot);
        }
    }

    fn value_axis(&self, canvas: &mut Canvas<'_>, area: Rect, plot: &Plot) {
        let line = Rect { x: area.x + AXIS - 1, width: 1, ..area };
        for row in 0..area.height {
            canvas.line(line, row, &[piece(Role::Rule, canvas.look.glyphs.upright)]);
        }
        let labels = Rect { width: AXIS - 1, ..area };
        for tick in self.scale.ticks(usize::from(area.height / 2 + 2).clamp(2, 6)) {
            let row = plot.row_of(tick);
            canvas.line_right(labels, row, &[piece(Role::Quiet, axis::label(tick))]);
            canvas.line(line, row, &[piece(Role::Rule, canvas.look.glyphs.tick)]);
        }
    }

    fn time_axis(&self, canvas: &mut Canvas<'_>, area: Rect, plot: &Plot) {
        let glyphs = canvas.look.glyphs;
        canvas.line(area, 0, &[piece(Role::Rule, glyphs.axis.repeat(usize::from(area.width)))]);
        for column in self.edges.iter().filter_map(|at| plot.column_of(*at)) {
            canvas.line(Rect { x: area.x + column, width: 1, ..area }, 0, &[piece(Role::Accent, glyphs.edge)]);
        }
        for at in axis::instants(self.from, self.to, usize::from(area.width / 14)) {
            let text = format!("{at:.0} s");
            if let Some(column) = plot.column_of(at) {
                let half = text.len() as u16 / 2;
                let x = (area.x + column).saturating_sub(half);
                if x >= area.x && x + text.len() as u16 <= area.right() {
                    canvas.line(Rect { x, width: area.right() - x, ..area }, 1, &[piece(Role::Quiet, text)]);
                }
            }
        }
    }

    /// Newest values beside the row in which they lie; two that share a row are moved apart.
    fn newest_values(&self, canvas: &mut Canvas<'_>, area: Rect, plot: &Plot) {
        let mut rows: Vec<(u16, Role, &str)> =
            self.newest.iter().map(|(value, role, text)| (plot.row_of(*value), *role, text.as_str())).collect();
        rows.sort_by_key(|(row, ..)| *row);
        for at in 1..rows.len() {
            rows[at].0 = rows[at].0.max(rows[at - 1].0 + 1);
        }
        let mut lowest = area.height;
        for at in (0..rows.len()).rev() {
            lowest = lowest.saturating_sub(1);
            rows[at].0 = rows[at].0.min(lowest);
            lowest = rows[at].0;
        }
        for (row, role, text) in rows {
            canvas.line(area, row, &[piece(role, text)]);
        }
    }
}
