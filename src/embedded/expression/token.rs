//! Tokens of expressions.

use crate::embedded::answer::Problem;

/// One token, borrowed from the expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'e> {
    /// A name or a keyword.
    Word(&'e str),
    /// `#name`, with the sign.
    NameRef(&'e str),
    /// `:value`, with the sign.
    ValueRef(&'e str),
    /// `= <> < <= > >= ( ) , + -`.
    Sign(&'e str),
}

impl Token<'_> {
    pub(super) fn is_word(self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword))
    }
}

/// Splits an expression; `kind` names it in errors.
pub(super) fn tokens<'e>(expression: &'e str, kind: &str) -> Result<Vec<Token<'e>>, Problem> {
    let mut tokens = Vec::new();
    let mut rest = expression.trim_start();
    if rest.is_empty() {
        return Err(Problem::validation(format!("Invalid {kind}: The expression can not be empty;")));
    }
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '<' if rest.starts_with("<>") || rest.starts_with("<=") => 2,
            '>' if rest.starts_with(">=") => 2,
            '=' | '<' | '>' | '(' | ')' | ',' | '+' | '-' => 1,
            '#' | ':' => 1 + word_length(&rest[1..]),
            _ => word_length(rest),
        };
        if length == 0 || (length == 1 && matches!(first, '#' | ':')) {
            return Err(match first {
                '.' | '[' | ']' => Problem::validation(format!(
                    "Invalid {kind}: document paths (`.` and `[n]`) are not supported by the embedded endpoint; use top-level attributes"
                )),
                _ => Problem::validation(format!("Invalid {kind}: Syntax error; token: \"{first}\", near: \"{}\"", near(rest))),
            });
        }
        let (text, after) = rest.split_at(length);
        tokens.push(match first {
            '#' => Token::NameRef(text),
            ':' => Token::ValueRef(text),
            _ if first.is_alphanumeric() || first == '_' => Token::Word(text),
            _ => Token::Sign(text),
        });
        rest = after.trim_start();
    }
    Ok(tokens)
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

fn near(text: &str) -> &str {
    text.char_indices().nth(12).map_or(text, |(end, _)| &text[..end])
}
