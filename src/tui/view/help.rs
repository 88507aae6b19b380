//! The help: every key, from the keymap.

use ratatui::layout::Rect;

use super::text::{Canvas, Piece, piece};
use crate::tui::keymap::{self, Context, Group};
use crate::tui::theme::Role;

const WIDTH: u16 = 62;

/// Draws the help over a view, scrolled on by some rows.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, scroll: u16) {
    let lines = lines();
    let inside = canvas.panel(area, "keys", WIDTH, lines.len() as u16);
    let hidden = lines.len().saturating_sub(usize::from(inside.height));
    let first = usize::from(scroll).min(hidden);
    canvas.lines(inside, lines.iter().skip(first).take(inside.height.into()));
    if hidden > first {
        canvas.line_right(inside, inside.height.saturating_sub(1), &[piece(Role::Accent, " down: more ")]);
    }
}

/// All rows of the help.
fn lines() -> Vec<Vec<Piece>> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        lines.push(vec![piece(Role::Heading, group.title())]);
        for binding in keymap::group(group) {
            let within = match binding.context {
                Context::Question => " (question)",
                Context::Prompt => " (rate prompt)",
                Context::Plans => " (plans)",
                Context::Help => " (help)",
                Context::Always | Context::Screen | Context::Replay => "",
            };
            lines.push(vec![
                piece(Role::Key, format!("  {:<12} ", binding.keys)),
                piece(Role::Text, binding.help),
                piece(Role::Quiet, within),
            ]);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_key_of_the_keymap() {
        let text: String = lines().into_iter().flatten().map(|(_, text)| text).collect();
        for binding in keymap::KEYMAP {
            assert!(text.contains(binding.keys) && text.contains(binding.help), "{}", binding.keys);
        }
    }
}
