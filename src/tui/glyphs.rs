//! Symbols: the only place that names characters which are not letters, digits or plain punctuation.
//!
//! Text on the screen is ASCII; only rules and charts differ between the sets. The braille set holds no character of
//! ambiguous width, so that it cannot shift a row in any terminal.

use std::str::FromStr;

use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr as _;

/// Which symbols to draw with, as chosen by the person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GlyphChoice {
    /// Braille when the locale is UTF-8, else ASCII.
    #[default]
    Auto,
    /// Charts of braille dots.
    Braille,
    /// Charts of half blocks, rules of box-drawing characters.
    Block,
    /// Nothing but ASCII.
    Ascii,
}

impl FromStr for GlyphChoice {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        match typed {
            "auto" => Ok(Self::Auto),
            "braille" => Ok(Self::Braille),
            "block" => Ok(Self::Block),
            "ascii" => Ok(Self::Ascii),
            _ => Err(format!("`{typed}` is no set of glyphs; type auto, braille, block or ascii")),
        }
    }
}

/// How dots become characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dots {
    /// Two by four dots in a cell.
    Braille,
    /// One by two dots in a cell.
    Half,
    /// One dot in a cell, drawn as the mark of its series.
    Mark,
}

/// A set of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// How charts are drawn.
    pub dots: Dots,
    /// A horizontal rule.
    pub rule: &'static str,
    /// A vertical rule: the value axis.
    pub upright: &'static str,
    /// A tick on the value axis.
    pub tick: &'static str,
    /// The time axis.
    pub axis: &'static str,
    /// A window edge on the time axis.
    pub edge: &'static str,
    /// One throttled second in a chart.
    pub mark: &'static str,
    /// Marks the current or chosen row.
    pub pointer: &'static str,
    /// A full step of a bar.
    pub bar: &'static str,
    /// The samples of lines in a legend: offered, accepted.
    pub samples: [&'static str; 2],
}

const BRAILLE: Glyphs = Glyphs {
    dots: Dots::Braille,
    rule: "\u{2812}",
    upright: "\u{28b8}",
    tick: "\u{28ba}",
    axis: "\u{2809}",
    edge: "\u{281b}",
    mark: "*",
    pointer: ">",
    bar: "\u{2836}",
    samples: ["\u{2812}\u{2812}", "\u{2812}\u{2812}"],
};

const BLOCK: Glyphs = Glyphs {
    dots: Dots::Half,
    rule: "\u{2500}",
    upright: "\u{2502}",
    tick: "\u{2524}",
    axis: "\u{2500}",
    edge: "\u{2534}",
    mark: "*",
    pointer: ">",
    bar: "\u{2588}",
    samples: ["\u{2500}\u{2500}", "\u{2580}\u{2580}"],
};

const ASCII: Glyphs = Glyphs {
    dots: Dots::Mark,
    rule: "-",
    upright: "|",
    tick: "+",
    axis: "-",
    edge: "^",
    mark: "*",
    pointer: ">",
    bar: "#",
    samples: ["--", "o"],
};

impl Glyphs {
    /// The set for a choice in this environment; `var` reads an environment variable.
    pub fn choose(choice: GlyphChoice, var: impl Fn(&str) -> Option<String>) -> Self {
        match choice {
            GlyphChoice::Braille => BRAILLE,
            GlyphChoice::Block => BLOCK,
            GlyphChoice::Auto if locale_is_utf8(var) => BRAILLE,
            GlyphChoice::Auto | GlyphChoice::Ascii => ASCII,
        }
    }

    /// The character for the dots of one cell: bit `row * 2 + column` of a braille cell, bit `row` of a half block.
    pub fn cell(&self, bits: u8, mark: char) -> char {
        match self.dots {
            Dots::Braille => char::from_u32(0x2800 + braille_bits(bits)).unwrap_or(mark),
            Dots::Half => match bits & 0b11 {
                0b01 => '\u{2580}',
                0b10 => '\u{2584}',
                _ => '\u{2588}',
            },
            Dots::Mark => mark,
        }
    }

    /// Dots in a cell, across and down.
    pub const fn dots_per_cell(&self) -> (usize, usize) {
        match self.dots {
            Dots::Braille => (2, 4),
            Dots::Half => (1, 2),
            Dots::Mark => (1, 1),
        }
    }

    /// Makes every cell harmless: no control character, and nothing but ASCII in the ASCII set, wherever the text came
    /// from.
    pub fn neutralise(&self, buffer: &mut Buffer) {
        for cell in &mut buffer.content {
            let symbol = cell.symbol();
            let bad = symbol.chars().any(is_unprintable) || (self.dots == Dots::Mark && !symbol.is_ascii());
            if bad {
                let wide = symbol.width() == 2;
                cell.set_symbol(if wide { "??" } else { "?" });
            }
        }
    }
}

/// Characters that could move the cursor, change direction, or take no room.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Dot numbers of Unicode braille: bits 0 to 2 down the left column, 3 to 5 down the right one, 6 and 7 the lowest row.
fn braille_bits(bits: u8) -> u32 {
    const PLACE: [u32; 8] = [0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80];
    PLACE.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, place)| place).sum()
}

/// Whether the locale says UTF-8: the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set and not empty decides.
fn locale_is_utf8(var: impl Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(|name| var(name)).find(|value| !value.is_empty()).is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthChar as _;

    fn chosen(pairs: &'static [(&str, &str)]) -> Glyphs {
        Glyphs::choose(GlyphChoice::Auto, |name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn ascii_is_drawn_unless_the_locale_is_utf8() {
        assert_eq!(chosen(&[]), ASCII);
        assert_eq!(chosen(&[("LANG", "C")]), ASCII);
        assert_eq!(chosen(&[("LANG", "de_DE.UTF-8")]), BRAILLE);
        assert_eq!(chosen(&[("LC_CTYPE", "C.utf8")]), BRAILLE);
        assert_eq!(chosen(&[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")]), ASCII);
        assert_eq!(chosen(&[("LC_ALL", ""), ("LANG", "en_US.UTF-8")]), BRAILLE);
    }

    #[test]
    fn the_braille_set_has_no_character_of_ambiguous_width() {
        let every = (0..=255u8).map(|bits| BRAILLE.cell(bits, '*'));
        let rest = [BRAILLE.rule, BRAILLE.upright, BRAILLE.tick, BRAILLE.axis, BRAILLE.edge, BRAILLE.mark, BRAILLE.bar].concat();
        for c in every.chain(rest.chars()) {
            assert_eq!((c.width(), c.width_cjk()), (Some(1), Some(1)), "{c:?}");
        }
    }

    #[test]
    fn dots_fill_a_braille_cell_from_its_upper_left_corner() {
        assert_eq!(BRAILLE.cell(0b0000_0001, '*'), '\u{2801}');
        assert_eq!(BRAILLE.cell(0b0000_0010, '*'), '\u{2808}');
        assert_eq!(BRAILLE.cell(0b1111_1111, '*'), '\u{28ff}');
        assert_eq!(BRAILLE.cell(0b1100_0000, '*'), '\u{28c0}');
    }

    #[test]
    fn the_ascii_set_is_ascii() {
        let all = [ASCII.rule, ASCII.upright, ASCII.tick, ASCII.axis, ASCII.edge, ASCII.mark, ASCII.pointer, ASCII.bar].concat();
        assert!(all.is_ascii() && ASCII.samples.concat().is_ascii());
    }
}
