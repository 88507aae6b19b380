//! The forecast in one line that is always in its place, so that nothing moves when there is one.

use super::text::{Piece, piece};
use crate::tui::app::App;
use crate::tui::figures;
use crate::tui::forecast::{Tone, current};
use crate::tui::theme::Role;

/// The line, in at most `width` columns.
pub(super) fn line(app: &App, width: u16) -> Vec<Piece> {
    let label = piece(Role::Quiet, "forecast ");
    let Some(predicted) = current(&app.shown) else { return vec![label, piece(Role::Quiet, figures::NOTHING)] };
    let role = match predicted.tone() {
        Tone::Quiet => Role::Text,
        Tone::Ahead => Role::Accent,
        Tone::True => Role::Strong,
        Tone::False => Role::Warning,
    };
    let ((said, detail), because) = (predicted.in_words(), piece(Role::Quiet, format!("  {}", predicted.because())));
    let whole = piece(role, format!("{said}{detail}"));
    let said = piece(role, said);
    // Less is said where there is less room, but never half of a word.
    let choices = [vec![label.clone(), whole.clone(), because], vec![label.clone(), whole], vec![label, said.clone()]];
    let fits = |line: &Vec<Piece>| line.iter().map(|(_, text)| text.len()).sum::<usize>() <= usize::from(width);
    choices.into_iter().find(fits).unwrap_or_else(|| vec![said])
}
