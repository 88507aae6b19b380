//! Views: what is drawn of a recording, one file per panel.

mod events;
mod facts;
mod footer;
mod forecast;
mod header;
mod help;
mod latency;
mod numbers;
mod overlays;
mod overview;
mod plans;
mod rate_chart;
mod target;
pub mod text;
mod throttles;
mod time_chart;
mod windows;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use super::glyphs::Glyphs;
use super::layout::{Tier, split_bottom, split_top};
use super::overlay::Overlay;
use super::theme::Theme;
use text::Canvas;

/// Colours and symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Colours.
    pub theme: Theme,
    /// Symbols.
    pub glyphs: Glyphs,
}

/// The views, in the order of their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// The answer and its evidence.
    #[default]
    Overview,
    /// Latency over time and as quantiles.
    Latency,
    /// The windows measured and planned.
    Windows,
    /// What was refused and what failed.
    Throttles,
    /// The table, its endpoint, and the guards.
    Target,
    /// What happened.
    Events,
}

impl View {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [Self::Overview, Self::Latency, Self::Windows, Self::Throttles, Self::Target, Self::Events];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Latency => "latency",
            Self::Windows => "windows",
            Self::Throttles => "throttles",
            Self::Target => "target",
            Self::Events => "events",
        }
    }

    /// The view after it; the first after the last.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }

    /// The view before it; the last before the first.
    #[must_use]
    pub fn previous(self) -> Self {
        Self::ALL[(self as usize + Self::ALL.len() - 1) % Self::ALL.len()]
    }
}

/// Draws a frame. Any size will do, and nothing is read but the state of the screen.
pub fn draw(app: &App, look: &Look, area: Rect, buffer: &mut Buffer) {
    let mut canvas = Canvas { buffer, look };
    canvas.blank(area);
    let tier = Tier::of(area.width, area.height);
    if tier <= Tier::Numbers {
        numbers::draw(&mut canvas, area, app, tier);
    } else {
        let (head, rest) = split_top(area, header::ROWS);
        let (body, foot) = split_bottom(rest, 1);
        header::draw(&mut canvas, head, app);
        footer::draw(&mut canvas, foot, app);
        let body = Rect { x: body.x + 1, width: body.width.saturating_sub(2), ..body };
        match app.view {
            View::Overview => overview::draw(&mut canvas, body, app, tier),
            View::Latency => latency::draw(&mut canvas, body, app),
            View::Windows => windows::draw(&mut canvas, body, app),
            View::Throttles => throttles::draw(&mut canvas, body, app),
            View::Target => target::draw(&mut canvas, body, app),
            View::Events => events::draw(&mut canvas, body, app),
        }
        match &app.overlay {
            Some(Overlay::Help(scroll)) => help::draw(&mut canvas, body, *scroll),
            Some(Overlay::Plans(chosen)) => plans::draw(&mut canvas, body, app, *chosen),
            Some(Overlay::Prompt(prompt)) => overlays::prompt(&mut canvas, body, app, prompt),
            Some(Overlay::Question(question, _)) => overlays::question(&mut canvas, body, app, question),
            None => {}
        }
        footer::notice(&mut canvas, body, app);
    }
    look.glyphs.neutralise(buffer);
}
