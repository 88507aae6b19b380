//! A plot: dots that lines are drawn into, and the cells they become. What is drawn later owns a shared cell.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::glyphs::Glyphs;
use super::series::{Point, Series};
use super::theme::{Role, Theme};

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Each value held over its span: what was set.
    Steps,
    /// Values joined at the middle of their spans: what was measured.
    Line,
    /// Marks along the span of each value above zero.
    Marks,
}

/// A series with how it looks.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    /// The values.
    pub series: &'a Series,
    /// How they are drawn.
    pub trace: Trace,
    /// Their colour.
    pub role: Role,
    /// Their character where a cell holds one dot.
    pub mark: char,
}

/// The instants and values that a plot shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Left edge, seconds.
    pub from: f64,
    /// Right edge, seconds.
    pub to: f64,
    /// Value at the upper edge; the lower edge is zero.
    pub top: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    bits: u8,
    mark: Option<char>,
    role: Option<Role>,
}

/// A grid of dots in the making.
#[derive(Debug)]
pub struct Plot {
    glyphs: Glyphs,
    frame: Frame,
    cells: (usize, usize),
    dots: (usize, usize),
    spots: Vec<Spot>,
}

impl Plot {
    /// An empty plot of this many cells, across and down.
    pub fn new(glyphs: Glyphs, frame: Frame, width: u16, height: u16) -> Self {
        let cells = (usize::from(width), usize::from(height));
        let (across, down) = glyphs.dots_per_cell();
        Self { glyphs, frame, cells, dots: (cells.0 * across, cells.1 * down), spots: vec![Spot::default(); cells.0 * cells.1] }
    }

    /// Draws a layer.
    pub fn draw(&mut self, layer: Layer<'_>) {
        for run in layer.series.runs() {
            match layer.trace {
                Trace::Steps => self.steps(run, layer),
                Trace::Line => self.line(run, layer),
                Trace::Marks => self.marks(run, layer),
            }
        }
    }

    /// The row of cells, from the top, in which `value` lies.
    pub fn row_of(&self, value: f64) -> u16 {
        let down = self.glyphs.dots_per_cell().1.max(1);
        (self.y(value) / down) as u16
    }

    /// The column of cells in which an instant lies; `None` when it is out of sight.
    pub fn column_of(&self, at: f64) -> Option<u16> {
        let inside = at >= self.frame.from && at <= self.frame.to && self.cells.0 > 0;
        inside.then(|| (self.x(at) as usize / self.glyphs.dots_per_cell().0).min(self.cells.0 - 1) as u16)
    }

    fn x(&self, at: f64) -> f64 {
        let range = self.frame.to - self.frame.from;
        if range > 0.0 { (at - self.frame.from) / range * self.dots.0 as f64 } else { -1.0 }
    }

    fn y(&self, value: f64) -> usize {
        let last = self.dots.1.saturating_sub(1);
        let share = if self.frame.top > 0.0 { (value / self.frame.top).clamp(0.0, 1.0) } else { 0.0 };
        last - (share * last as f64).round() as usize
    }

    /// Dot columns that a span of time covers, within the plot.
    fn columns(&self, point: &Point) -> Option<(usize, usize)> {
        let (first, end) = (self.x(point.from).floor(), self.x(point.to).ceil());
        if end <= 0.0 || first >= self.dots.0 as f64 || self.dots.0 == 0 {
            return None;
        }
        Some((first.max(0.0) as usize, (end as usize).clamp(1, self.dots.0) - 1))
    }

    fn steps(&mut self, run: &[Point], layer: Layer<'_>) {
        let mut before: Option<usize> = None;
        for point in run {
            let Some((first, last)) = self.columns(point) else {
                before = None;
                continue;
            };
            let y = self.y(point.value);
            let first = first.min(last);
            (first..=last).for_each(|x| self.set(x, y, layer));
            if let Some(other) = before.replace(y) {
                (other.min(y)..=other.max(y)).for_each(|y| self.set(first, y, layer));
            }
        }
    }

    fn line(&mut self, run: &[Point], layer: Layer<'_>) {
        let middle = |plot: &Self, point: &Point| (plot.x(f64::midpoint(point.from, point.to)), plot.y(point.value) as f64);
        let mut before: Option<(f64, f64)> = None;
        for point in run {
            let here = middle(self, point);
            let start = before.unwrap_or((self.x(point.from), here.1));
            self.stroke(start, here, layer);
            before = Some(here);
        }
        if let (Some(last), Some(from)) = (run.last(), before) {
            self.stroke(from, (self.x(last.to) - 1.0, from.1), layer);
        }
    }

    /// Draws a straight stroke between two dots, the part that is in sight.
    fn stroke(&mut self, from: (f64, f64), to: (f64, f64), layer: Layer<'_>) {
        let right = self.dots.0 as f64;
        if to.0 < 0.0 || from.0 >= right || to.0 < from.0 {
            return;
        }
        let slope = if to.0 > from.0 { (to.1 - from.1) / (to.0 - from.0) } else { 0.0 };
        let (first, last) = (from.0.floor().max(0.0), to.0.floor().min(right - 1.0));
        let mut before = (from.1 + (first - from.0).max(0.0) * slope).round();
        let mut x = first;
        while x <= last {
            let y = if x >= to.0.floor() { to.1 } else { (from.1 + (x - from.0).max(0.0) * slope).round() };
            let (low, high) = (y.min(before), y.max(before));
            let low = if low < y { low + 1.0 } else { low };
            let high = if high > y { high - 1.0 } else { high };
            (low.max(0.0) as usize..=high.max(0.0) as usize).for_each(|y| self.set(x as usize, y, layer));
            before = y;
            x += 1.0;
        }
    }

    fn marks(&mut self, run: &[Point], layer: Layer<'_>) {
        let (across, down) = self.glyphs.dots_per_cell();
        for point in run.iter().filter(|point| point.value > 0.0) {
            let Some((first, last)) = self.columns(point) else { continue };
            let row = self.y(point.value) / down * self.cells.0;
            for column in first.min(last) / across..=last / across {
                if let Some(spot) = self.spots.get_mut(row + column) {
                    spot.mark = Some(layer.mark);
                    spot.role = Some(layer.role);
                }
            }
        }
    }

    fn set(&mut self, x: usize, y: usize, layer: Layer<'_>) {
        let (across, down) = self.glyphs.dots_per_cell();
        if x >= self.dots.0 || y >= self.dots.1 {
            return;
        }
        let bit = (y % down) * across + x % across;
        if let Some(spot) = self.spots.get_mut(y / down * self.cells.0 + x / across) {
            spot.bits |= 1 << bit;
            spot.mark = (across == 1 && down == 1).then_some(layer.mark);
            spot.role = Some(layer.role);
        }
    }

    /// Puts the plot into a buffer, its upper left corner at that of `area`.
    pub fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        for (index, spot) in self.spots.iter().enumerate() {
            let Some(role) = spot.role else { continue };
            let (column, row) = ((index % self.cells.0.max(1)) as u16, (index / self.cells.0.max(1)) as u16);
            if column >= area.width || row >= area.height {
                continue;
            }
            if let Some(cell) = buffer.cell_mut((area.x + column, area.y + row)) {
                let symbol = spot.mark.unwrap_or_else(|| self.glyphs.cell(spot.bits, '*'));
                cell.set_char(symbol).set_style(theme.style(role));
            }
        }
    }
}
