//! The words and signs of an expectation.

use crate::analysis::VerdictKind;

use super::ast::Operator;

/// What is wrong, and at which byte.
pub(super) type Wrong = (usize, String);

/// More words and signs than this are refused.
const MOST: usize = 512;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    /// A number as it stands between brackets.
    Name(String),
    Word(VerdictKind),
    Text(String),
    Operator(Operator),
    Not,
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Dot,
}

/// The words that a verdict may be.
pub(super) const KINDS: [VerdictKind; 4] =
    [VerdictKind::ServiceBound, VerdictKind::ClientBound, VerdictKind::CeilingNotReached, VerdictKind::Inconclusive];

/// Words and signs, each with the byte where it starts.
pub(super) fn tokens(typed: &str) -> Result<Vec<(usize, Token)>, Wrong> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = typed[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        if tokens.len() >= MOST {
            return Err((at, format!("an expectation has at most {MOST} words and signs; type several")));
        }
        let rest = &typed[at..];
        let (length, token) = if c.is_ascii_digit() {
            number(rest).map_err(|what| (at, what))?
        } else if c.is_ascii_alphabetic() || c == '_' {
            word(rest)
        } else if c == '"' || c == '\'' {
            text(rest, c).ok_or_else(|| (at, format!("the text that starts here has no end; close it with {c}")))?
        } else {
            sign(rest).map_err(|what| (at, what))?
        };
        tokens.push((at, token));
        at += length;
    }
    Ok(tokens)
}

/// A number with `_` between digits, and `k` or `%` behind it.
fn number(rest: &str) -> Result<(usize, Token), String> {
    let digits = |text: &str| text.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(text.len());
    let mut length = digits(rest);
    if rest[length..].starts_with('.') && rest[length + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        length += 1 + digits(&rest[length + 1..]);
    }
    let bare = rest[..length].replace('_', "");
    let behind = &rest[length..];
    let (suffix, power) = match behind.chars().next() {
        Some('k') => (1, "e3"),
        Some('%') => (1, "e-2"),
        _ => (0, ""),
    };
    let next = behind[suffix..].chars().next();
    if next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
        let glued = behind.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(behind.len());
        return Err(format!(
            "`{}{}` is not a number; units are in the names, as in p99_ms < 20, and 100k or 100_000 is a hundred thousand",
            &rest[..length],
            &behind[..glued]
        ));
    }
    if next == Some(',') {
        return Err(format!("numbers are written without commas; type for example {bare}000 or {bare}k"));
    }
    let number = format!("{bare}{power}").parse::<f64>().ok().filter(|n| n.is_finite());
    number.map(|n| (length + suffix, Token::Number(n))).ok_or_else(|| format!("`{bare}` is too large a number"))
}

fn word(rest: &str) -> (usize, Token) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // `service-bound` is one word; `a-b` is a difference.
    for kind in KINDS {
        if let Some(behind) = rest.strip_prefix(kind.name())
            && !behind.starts_with(|c: char| is_word(c) || c == '-')
        {
            return (kind.name().len(), Token::Word(kind));
        }
    }
    let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
    (length, Token::Name(rest[..length].to_owned()))
}

fn text(rest: &str, quote: char) -> Option<(usize, Token)> {
    let mut inner = String::new();
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if escaped {
            inner.push(c);
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return Some((at + 1, Token::Text(inner)));
        } else {
            inner.push(c);
        }
    }
    None
}

fn sign(rest: &str) -> Result<(usize, Token), String> {
    let mut operators = Operator::ALL;
    operators.sort_by_key(|operator| std::cmp::Reverse(operator.symbol().len()));
    if let Some(operator) = operators.into_iter().find(|operator| rest.starts_with(operator.symbol())) {
        return Ok((operator.symbol().len(), Token::Operator(operator)));
    }
    let c = rest.chars().next().unwrap_or_default();
    let token = match c {
        '!' => Token::Not,
        '(' => Token::Open,
        ')' => Token::Close,
        '[' => Token::OpenBracket,
        ']' => Token::CloseBracket,
        '.' => Token::Dot,
        '=' => return Err("one `=` means nothing here; type == to compare".to_owned()),
        '&' => return Err("one `&` means nothing here; type && for and".to_owned()),
        '|' => return Err("one `|` means nothing here; type || for or".to_owned()),
        _ => {
            return Err(format!(
                "`{}` means nothing here; type names, numbers, + - * / < <= > >= == != && || ! and parentheses",
                c.escape_debug()
            ));
        }
    };
    Ok((c.len_utf8(), token))
}
