//! A chart as inline SVG. Colours are names of the page's style sheet, so that one picture serves light and dark.

use std::fmt::Display;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{Axis, Scale, level, time, times};
use super::series::{Runs, Span};

/// The roles that the style sheet gives colours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// Words and figures.
    Text,
    /// Grid and axes.
    Grid,
    /// Windows, behind everything.
    Window,
    /// Offered rate.
    Offered,
    /// Accepted rate.
    Accepted,
    /// Throttled rate.
    Throttled,
    /// Sustained ceiling.
    Ceiling,
    /// What the service claims.
    Claim,
    /// Median service latency.
    ServiceP50,
    /// 99th percentile of service latency.
    ServiceP99,
    /// Median response latency.
    ResponseP50,
    /// 99th percentile of response latency.
    ResponseP99,
}

impl Ink {
    const ALL: [Self; 12] = [
        Self::Text,
        Self::Grid,
        Self::Window,
        Self::Offered,
        Self::Accepted,
        Self::Throttled,
        Self::Ceiling,
        Self::Claim,
        Self::ServiceP50,
        Self::ServiceP99,
        Self::ResponseP50,
        Self::ResponseP99,
    ];

    /// Its name in the style sheet.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Text => "ink",
            Self::Grid => "grid",
            Self::Window => "window",
            Self::Offered => "offered",
            Self::Accepted => "accepted",
            Self::Throttled => "throttled",
            Self::Ceiling => "ceiling",
            Self::Claim => "claim",
            Self::ServiceP50 => "service-p50",
            Self::ServiceP99 => "service-p99",
            Self::ResponseP50 => "response-p50",
            Self::ResponseP99 => "response-p99",
        }
    }

    /// How lines of it are broken up, in pixels, so that nobody needs to tell colours apart.
    const fn dashes(self) -> Option<(u32, u32)> {
        match self {
            Self::Ceiling => Some((7, 3)),
            Self::Claim => Some((2, 3)),
            Self::ResponseP50 | Self::ResponseP99 => Some((4, 3)),
            _ => None,
        }
    }

    /// What stands in for it while the picture is drawn.
    const fn stand_in(self) -> RGBColor {
        RGBColor(0xfe, 0xd0, self as u8)
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// As a level that holds for each span.
    Steps,
    /// From middle to middle of the spans.
    Line,
    /// The same, with the area under it.
    Area,
}

/// A series.
pub(super) struct Series {
    pub(super) ink: Ink,
    pub(super) shape: Shape,
    pub(super) runs: Runs,
}

/// A level that holds for a span, with ways to name it.
pub(super) struct Level {
    pub(super) ink: Ink,
    pub(super) span: Span,
    pub(super) at: f64,
    /// The longest that fits along the line is shown.
    pub(super) words: Vec<String>,
    /// Whether the words stand below the line instead of above.
    pub(super) below: bool,
}

/// A chart over time.
pub(super) struct Chart {
    pub(super) span: Span,
    pub(super) scale: Scale,
    /// Smallest and largest value that it has to show.
    pub(super) values: (f64, f64),
    pub(super) windows: Vec<(String, Span)>,
    pub(super) series: Vec<Series>,
    pub(super) levels: Vec<Level>,
    /// Said in a corner.
    pub(super) mark: Option<&'static str>,
}

/// Width and height in pixels at which a chart is meant to be seen.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) width: u32,
    pub(super) height: u32,
}

/// Parts of a pixel: a picture is drawn in whole numbers, and lines must not jump from one pixel to the next.
const FINE: u32 = 4;
const FONT: u32 = 12;

impl Chart {
    /// The picture, without its frame: what goes into an `<svg>` of [`view_box`].
    ///
    /// # Errors
    /// What the drawing library says.
    pub(super) fn draw(&self, size: Size) -> Result<String, String> {
        let mut svg = String::new();
        self.draw_into(&mut svg, size)?;
        // The frame names its format by an address; inside of a page it needs none, and the page's own says more.
        let inner = svg.split_once('>').map_or("", |(_, inner)| inner);
        let mut inner = inner.trim().trim_end_matches("</svg>").replace(" opacity=\"1\"", "").replace("font-family=\"sans-serif\" ", "");
        for ink in Ink::ALL {
            let RGBColor(r, g, b) = ink.stand_in();
            let colour = format!("#{r:02X}{g:02X}{b:02X}");
            let dashes = ink.dashes().map_or(String::new(), |(on, off)| format!(" stroke-dasharray=\"{} {}\"", on * FINE, off * FINE));
            inner = inner
                .replace(&format!("stroke=\"{colour}\""), &format!("stroke=\"var(--{})\"{dashes}", ink.name()))
                .replace(&format!("fill=\"{colour}\""), &format!("fill=\"var(--{})\"", ink.name()));
        }
        Ok(inner)
    }

    fn draw_into(&self, svg: &mut String, size: Size) -> Result<(), String> {
        let root = SVGBackend::with_string(svg, (size.width * FINE, size.height * FINE)).into_drawing_area();
        self.draw_on(&root, size)?;
        root.present().map_err(|e| e.to_string())
    }

    fn draw_on(&self, root: &DrawingArea<SVGBackend<'_>, Shift>, size: Size) -> Result<(), String> {
        fn said(error: impl Display) -> String {
            error.to_string()
        }
        let (low, high) = self.scale.range(self.values.0, self.values.1);
        let narrow = size.width < 600;
        let (across, up) = (times(self.span, if narrow { 4 } else { 9 }), self.scale.marks((low, high), 7));
        let mut chart = ChartBuilder::on(root)
            .margin_top(6 * FINE)
            .margin_right(if narrow { 8 } else { 14 } * FINE)
            .x_label_area_size(22 * FINE)
            .y_label_area_size(if narrow { 44 } else { 52 } * FINE)
            .build_cartesian_2d(Axis::new(self.span, across), Axis::new((low, high), up))
            .map_err(said)?;
        let words = |ink: Ink| ("sans-serif", f64::from(FONT * FINE) * 1.24).into_font().color(&ink.stand_in());
        let line = |ink: Ink, width: f64| ink.stand_in().stroke_width((width * f64::from(FINE)) as u32);
        for (at, (_, (from, to))) in self.windows.iter().enumerate() {
            let shade = if at % 2 == 0 { 0.55 } else { 0.9 };
            let band = Rectangle::new([(*from, low), (*to, high)], Ink::Window.stand_in().mix(shade).filled());
            let edges = [*from, *to].map(|x| PathElement::new([(x, low), (x, high)], line(Ink::Grid, 1.0)));
            chart.draw_series([band]).map_err(said)?;
            chart.draw_series(edges).map_err(said)?;
        }
        chart
            .configure_mesh()
            .disable_x_mesh()
            .max_light_lines(0)
            .bold_line_style(line(Ink::Grid, 0.5))
            .axis_style(line(Ink::Grid, 1.0))
            .label_style(words(Ink::Text))
            .set_all_tick_mark_size(4 * FINE)
            .x_label_formatter(&|s| time(*s))
            .y_label_formatter(&|place| level(self.scale.value(*place)))
            .draw()
            .map_err(said)?;
        for series in &self.series {
            for run in &series.runs {
                let points = self.points(series.shape, run);
                if series.shape == Shape::Area {
                    chart.draw_series(AreaSeries::new(points.iter().copied(), low, series.ink.stand_in().mix(0.18))).map_err(said)?;
                }
                chart.draw_series(LineSeries::new(points, line(series.ink, 1.75))).map_err(said)?;
            }
        }
        for at in &self.levels {
            let place = self.scale.place(at.at);
            chart.draw_series([PathElement::new([(at.span.0, place), (at.span.1, place)], line(at.ink, 1.75))]).map_err(said)?;
        }
        let roomy = self.windows.iter().all(|(name, span)| self.fits(size, name, *span));
        let top = words(Ink::Text).pos(Pos::new(HPos::Center, VPos::Top));
        let numbers = self.windows.iter().filter(|_| roomy).map(|(name, (from, to))| {
            EmptyElement::at((f64::midpoint(*from, *to), high)) + Text::new(name.clone(), (0, (2 * FINE) as i32), top.clone())
        });
        chart.draw_series(numbers).map_err(said)?;
        for at in &self.levels {
            let Some(text) = at.words.iter().find(|words| self.fits(size, words, at.span)) else { continue };
            let v = if at.below { VPos::Top } else { VPos::Bottom };
            let style = words(at.ink).pos(Pos::new(HPos::Left, v));
            let lift = if at.below { 3 } else { -2 } * FINE as i32;
            let place = (at.span.0, self.scale.place(at.at));
            let label = EmptyElement::at(place) + Text::new(text.clone(), (6 * FINE as i32, lift), style);
            chart.draw_series([label]).map_err(said)?;
        }
        if let Some(mark) = self.mark {
            let style = words(Ink::Throttled).pos(Pos::new(HPos::Right, VPos::Bottom));
            let label = EmptyElement::at((self.span.1, low)) + Text::new(mark, (-6 * FINE as i32, -4 * FINE as i32), style);
            chart.draw_series([label]).map_err(said)?;
        }
        Ok(())
    }

    /// Whether words fit along a span.
    fn fits(&self, size: Size, words: &str, (from, to): Span) -> bool {
        let per_s = f64::from(size.width) * 0.85 / (self.span.1 - self.span.0);
        (to - from) * per_s > f64::from(FONT) * (0.58 * words.len() as f64 + 0.8)
    }

    fn points(&self, shape: Shape, run: &[(Span, f64)]) -> Vec<(f64, f64)> {
        let place = |value: f64| self.scale.place(value);
        match (shape, run) {
            // A second between gaps is drawn as long as it is, else nobody would see it.
            (Shape::Steps, _) | (_, [_]) => {
                run.iter().flat_map(|((from, to), value)| [(*from, place(*value)), (*to, place(*value))]).collect()
            }
            (Shape::Line | Shape::Area, _) => run.iter().map(|((from, to), value)| (f64::midpoint(*from, *to), place(*value))).collect(),
        }
    }
}

/// The view box of a chart of this size.
pub(super) fn view_box(size: Size) -> String {
    format!("0 0 {} {}", size.width * FINE, size.height * FINE)
}
