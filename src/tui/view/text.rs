//! Text on the screen: cleaned, fitted, wrapped and put in its place. Nothing here can write outside its area.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::Look;
use crate::tui::glyphs::is_unprintable;
use crate::tui::theme::Role;

/// A piece of a line: what it is, and its text.
pub type Piece = (Role, String);

/// A piece, from anything that is text.
pub fn piece(role: Role, text: impl Into<String>) -> Piece {
    (role, text.into())
}

/// A label and its value.
pub fn labelled(label: &str, role: Role, value: impl Into<String>) -> Vec<Piece> {
    vec![(Role::Quiet, format!("{label} ")), (role, value.into())]
}

/// Text from outside without what could move the cursor or change direction; white space becomes a blank.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_whitespace() {
                ' '
            } else if is_unprintable(c) {
                '?'
            } else {
                c
            }
        })
        .collect()
}

/// Joins groups of pieces with two blanks, and leaves out those with the highest place until the rest fits.
pub fn fit(mut groups: Vec<(u8, Vec<Piece>)>, width: u16) -> Vec<Piece> {
    let length = |groups: &[(u8, Vec<Piece>)]| {
        let text: usize = groups.iter().flat_map(|(_, pieces)| pieces).map(|(_, text)| text.width()).sum();
        text + 2 * groups.len().saturating_sub(1)
    };
    while groups.len() > 1 && length(&groups) > usize::from(width) {
        let Some(worst) = groups.iter().enumerate().max_by_key(|(at, (place, _))| (*place, *at)).map(|(at, _)| at) else { break };
        groups.remove(worst);
    }
    let mut line = Vec::new();
    for (at, (_, pieces)) in groups.into_iter().enumerate() {
        if at > 0 {
            line.push(piece(Role::Text, "  "));
        }
        line.extend(pieces);
    }
    line
}

/// Cleaned text in lines of at most `width` columns, broken at blanks where there are any.
pub fn wrap(text: &str, width: u16) -> Vec<String> {
    let width = usize::from(width.max(1));
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in clean(text).split_whitespace() {
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if line.width() + c.width().unwrap_or(0) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Text of at most `width` columns; what was cut off is marked by a tilde.
pub fn cut(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.width() <= width {
        return text;
    }
    let mut short = String::new();
    for c in text.chars() {
        if short.width() + c.width().unwrap_or(0) + 1 > width {
            break;
        }
        short.push(c);
    }
    if width > 0 {
        short.push('~');
    }
    short
}

/// What is drawn on, and how it looks.
#[derive(Debug)]
pub struct Canvas<'a> {
    /// The cells.
    pub buffer: &'a mut Buffer,
    /// Colours and symbols.
    pub look: &'a Look,
}

impl Canvas<'_> {
    /// Puts pieces into a row of an area, counted from its top; what does not fit is cut off.
    pub fn line(&mut self, area: Rect, row: u16, pieces: &[Piece]) {
        let area = area.intersection(self.buffer.area);
        if row >= area.height {
            return;
        }
        let mut x = area.x;
        for (role, text) in pieces {
            if x >= area.right() {
                break;
            }
            let style = self.look.theme.style(*role);
            (x, _) = self.buffer.set_stringn(x, area.y + row, clean(text), usize::from(area.right() - x), style);
        }
    }

    /// Puts pieces at the right end of a row.
    pub fn line_right(&mut self, area: Rect, row: u16, pieces: &[Piece]) {
        let width = pieces.iter().map(|(_, text)| text.width()).sum::<usize>().min(usize::from(area.width)) as u16;
        self.line(Rect { x: area.right() - width, width, ..area }, row, pieces);
    }

    /// Puts lines below each other from the top of an area; returns what is left of it.
    pub fn lines<'a>(&mut self, area: Rect, lines: impl IntoIterator<Item = &'a Vec<Piece>>) -> Rect {
        let mut row = 0;
        for pieces in lines {
            self.line(area, row, pieces);
            row += 1;
        }
        super::super::layout::split_top(area, row).1
    }

    /// A heading with a quiet rule to the right of it; returns the area below.
    pub fn heading(&mut self, area: Rect, title: &str, more: &[Piece]) -> Rect {
        if area.height == 0 {
            return area;
        }
        let (row, rest) = super::super::layout::split_top(area, 1);
        let rule = self.look.glyphs.rule.repeat(usize::from(row.width));
        self.line(row, 0, &[(Role::Rule, rule)]);
        let mut pieces = vec![piece(Role::Heading, format!("{title} "))];
        pieces.extend_from_slice(more);
        self.line(row, 0, &pieces);
        rest
    }

    /// Blanks an area, so that an overlay covers what lies below it.
    pub fn blank(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        let style = self.look.theme.empty();
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                    cell.set_style(style);
                }
            }
        }
    }

    /// A box in the middle with a title; returns the area inside.
    pub fn panel(&mut self, area: Rect, title: &str, width: u16, height: u16) -> Rect {
        let outer = super::super::layout::centred(area, width.saturating_add(4), height.saturating_add(3));
        self.blank(Rect { x: outer.x.saturating_sub(1), width: outer.width + 2, ..outer }.intersection(area));
        let rule = self.look.glyphs.rule.repeat(usize::from(outer.width));
        self.line(outer, 0, &[(Role::Rule, rule.clone())]);
        self.line(outer, outer.height.saturating_sub(1), &[(Role::Rule, rule)]);
        let inside = Rect { x: outer.x + 2.min(outer.width), width: outer.width.saturating_sub(4), ..outer };
        self.line(inside, 0, &[piece(Role::Accent, format!(" {title} "))]);
        for row in 1..outer.height.saturating_sub(1) {
            self.line(outer, row, &[piece(Role::Rule, self.look.glyphs.upright)]);
            self.line_right(outer, row, &[piece(Role::Rule, self.look.glyphs.upright)]);
        }
        Rect { y: outer.y + 1.min(outer.height), height: outer.height.saturating_sub(2), ..inside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_service_says_cannot_move_the_cursor() {
        assert_eq!(clean("a\u{1b}[2Jb\r\nc\u{202e}d\u{7}"), "a?[2Jb  c?d?");
    }

    #[test]
    fn the_least_important_part_goes_first() {
        let groups =
            || vec![(0, vec![piece(Role::Text, "aaaa")]), (2, vec![piece(Role::Text, "bbbb")]), (1, vec![piece(Role::Text, "cccc")])];
        let text = |width| fit(groups(), width).into_iter().map(|(_, text)| text).collect::<String>();
        assert_eq!([text(16), text(15), text(9)], ["aaaa  bbbb  cccc", "aaaa  cccc", "aaaa"]);
    }

    proptest! {
        #[test]
        fn wrapped_lines_fit_and_lose_no_letter(text in "\\PC{0,120}", width in 2u16..60) {
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| line.width() <= usize::from(width)));
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&clean(&text)));
            prop_assert!(cut(&text, usize::from(width)).width() <= usize::from(width));
        }
    }
}
