//! The terminal screen: draws the newest recording at most ten times a second, turns keys into commands, and leaves the
//! terminal as it found it. It runs on the calling thread and shares nothing with the load but the remote.

pub mod app;
pub mod axis;
pub mod figures;
#[cfg(test)]
pub mod fixtures;
pub mod forecast;
pub mod glyphs;
pub mod input;
pub mod keymap;
pub mod layout;
pub mod overlay;
pub mod plot;
mod screen;
pub mod series;
pub mod steering;
pub mod stopping;
pub mod terminal;
pub mod theme;
pub mod view;

#[cfg(test)]
mod tests;

pub use glyphs::GlyphChoice;
pub use keymap::keys_markdown;
pub use screen::{Leave, Options, TuiError, run};
pub use theme::ThemeChoice;
