//! Text from outside made harmless to print: messages of a service may hold anything.

/// `text` with control characters, line breaks and invisible direction marks neutralised: line breaks and tabs become a
/// space, the others `?`. What is left cannot move a cursor, colour a line or reorder it.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if c.is_control() || is_invisible(c) => '?',
            c => c,
        })
        .collect()
}

/// [`clean`], and `?` for whatever is not ASCII.
pub fn clean_ascii(text: &str) -> String {
    clean(text).chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_escape_sequence_in_a_message_is_harmless() {
        assert_eq!(clean("no\u{1b}[2J\r\nway\u{9b}31m\u{202e}x"), "no?[2J  way?31m?x");
        assert_eq!(clean("K\u{f6}ln"), "K\u{f6}ln");
        assert_eq!(clean_ascii("K\u{f6}ln"), "K?ln");
    }

    proptest! {
        #[test]
        fn no_control_character_survives(text in ".*", raw in prop::collection::vec(any::<char>(), 0..50)) {
            let raw: String = raw.into_iter().collect();
            for t in [text, raw] {
                prop_assert!(clean(&t).chars().all(|c| !c.is_control()));
                prop_assert!(clean_ascii(&t).is_ascii());
            }
        }
    }
}
