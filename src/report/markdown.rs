//! The Markdown rendering: tables for a reference page. GitHub-flavoured, and plain enough to be read as text.

use super::clean::clean;
use super::document::Document;
use super::sheet::{self, Answer, Fact, Table};

/// A session document as a Markdown page. The first line says SIMULATED where the simulated endpoint answered. Text from
/// outside is escaped, so that it shows as it was and changes nothing on the page.
pub fn markdown(document: &Document) -> String {
    let mut page = Page::default();
    if document.target.simulated {
        page.simulated();
    }
    page.heading(1, &sheet::heading(document));
    page.facts(&sheet::when(document));
    verdict(document, &mut page);
    windows(document, &mut page);
    page.table(2, &sheet::steps(document));
    page.table(2, &sheet::claims(document));
    throttling(document, &mut page);
    page.table(2, &sheet::failures(document));
    page.heading(2, "Method");
    page.facts(&sheet::definitions());
    page.heading(2, "Environment");
    page.facts(&sheet::environment(document));
    page.finish()
}

fn verdict(document: &Document, page: &mut Page) {
    let (words, evidence, caveats) = sheet::why(document);
    page.heading(2, "Verdict");
    page.paragraph(&format!("**{}**", escape(words)));
    page.list(&evidence);
    if !caveats.is_empty() {
        page.paragraph("Reasons to distrust these figures:");
        page.list(&caveats);
    }
}

fn windows(document: &Document, page: &mut Page) {
    page.table(2, &sheet::rates(document));
    if let Some(sentence) = sheet::average_in_words(document) {
        page.paragraph(&escape(&sentence));
    }
    page.table(3, &sheet::counts(document));
    page.table(3, &sheet::latencies(document));
    for (title, sentences) in [("What each verdict rests on", sheet::evidence(document)), ("Caveats of windows", sheet::caveats(document))]
    {
        if !sentences.is_empty() {
            page.heading(3, title);
            page.list(&sentences);
        }
    }
}

fn throttling(document: &Document, page: &mut Page) {
    let answers = sheet::throttles(document);
    if answers.is_empty() {
        return;
    }
    page.heading(2, "Throttles");
    for answer in &answers {
        page.answer(answer);
    }
    if let Some(sentence) = sheet::monitor_in_words(document) {
        page.paragraph(&escape(&sentence));
    }
    page.table(3, &sheet::hottest_keys(document));
    page.table(3, &sheet::contrast(document));
    if let Some(sentence) = sheet::contrast_in_words(document) {
        page.paragraph(&escape(&sentence));
    }
}

/// A page in the making: blocks with an empty line between them.
#[derive(Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    fn block(&mut self, block: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(block.trim_end_matches('\n'));
        self.text.push('\n');
    }

    /// The warning that stands first.
    pub(super) fn simulated(&mut self) {
        self.block(&format!("> **{}**", escape(sheet::SIMULATED)));
    }

    pub(super) fn heading(&mut self, level: usize, text: &str) {
        self.block(&format!("{} {}", "#".repeat(level), escape(text)));
    }

    /// A paragraph of Markdown.
    pub(super) fn paragraph(&mut self, markdown: &str) {
        self.block(markdown);
    }

    pub(super) fn list(&mut self, items: &[String]) {
        if !items.is_empty() {
            self.block(&items.iter().map(|item| format!("- {}", escape(item))).collect::<Vec<_>>().join("\n"));
        }
    }

    pub(super) fn facts(&mut self, facts: &[Fact]) {
        self.block(&facts.iter().map(|fact| format!("- **{}**: {}", escape(fact.name), escape(&fact.text))).collect::<Vec<_>>().join("\n"));
    }

    /// A table with its heading; nothing where it has no rows.
    pub(super) fn table(&mut self, level: usize, table: &Table) {
        if table.is_empty() {
            return;
        }
        self.heading(level, table.title);
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut block = row(table.columns.iter().map(|column| escape(column.name)).collect());
        block.push_str(&row(table.columns.iter().map(|column| if column.figures { "---:" } else { "---" }.to_owned()).collect()));
        for cells in &table.rows {
            block.push_str(&row(cells.iter().map(|cell| escape(cell)).collect()));
        }
        self.block(&block);
    }

    /// A throttle answer: what it was, and its message verbatim.
    pub(super) fn answer(&mut self, answer: &Answer) {
        self.block(&format!("**{}**: {}", escape(&answer.what), escape(&answer.when)));
        self.verbatim(&answer.message);
        if let Some(meaning) = &answer.meaning {
            self.block(&escape(meaning));
        }
    }

    /// One line as it is, in a fence that it cannot close.
    pub(super) fn verbatim(&mut self, line: &str) {
        let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.block(&format!("{fence}text\n{line}\n{fence}"));
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Where the character stands that would make a heading, a list, a quotation or a rule of a line.
fn opening(line: &str) -> Option<usize> {
    let ends = |at: usize| line[at..].chars().next().is_none_or(char::is_whitespace);
    match line.chars().next()? {
        '>' | ':' | '=' => (line.len() > 1).then_some(0),
        '+' | '-' => (ends(1) && line.len() > 1 || line.starts_with("--")).then_some(0),
        '#' => ends(line.bytes().take_while(|b| *b == b'#').count()).then_some(0),
        c if c.is_ascii_digit() => {
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            (line[digits..].starts_with(['.', ')']) && ends(digits + 1)).then_some(digits)
        }
        _ => None,
    }
}

/// Text as one line of Markdown that shows it: it is made harmless to print, what would be interpreted is escaped, also what only is at the start of a
/// line, and links that some renderers make by themselves.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let text = clean(text);
    let opening = opening(&text);
    let formula = text.matches('$').count() > 1;
    for (at, c) in text.char_indices() {
        let link = c == ':' && text[at..].starts_with("://") || c == '@' || c == '.' && text[..at].to_ascii_lowercase().ends_with("www");
        if opening == Some(at) || link || formula && c == '$' || matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '|' | '~' | '&') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_markdown_would_interpret_is_escaped_and_the_rest_is_not() {
        for (text, escaped) in [
            ("4,000 to 4,001", "4,000 to 4,001"),
            ("throttlescope-ts-1", "throttlescope-ts-1"),
            ("-", "-"),
            ("- item", "\\- item"),
            ("# head", "\\# head"),
            ("1. one", "1\\. one"),
            ("3.86 s", "3.86 s"),
            ("#1 service-bound", "#1 service-bound"),
            ("> quoted", "\\> quoted"),
            ("---", "\\---"),
            ("costs $0.07", "costs $0.07"),
            ("$x$", "\\$x\\$"),
            ("", ""),
            ("a|b `c` <b>x</b> &amp; [d](e) *f* _g_", "a\\|b \\`c\\` \\<b>x\\</b> \\&amp; \\[d\\](e) \\*f\\* \\_g\\_"),
            ("see https://evil.example", "see https\\://evil.example"),
            ("www.evil.example me@evil.example", "www\\.evil.example me\\@evil.example"),
        ] {
            assert_eq!(escape(text), escaped);
        }
    }

    #[test]
    fn a_message_cannot_close_its_fence() {
        let mut page = Page::default();
        page.verbatim("a ```` b");
        assert_eq!(page.finish(), "`````text\na ```` b\n`````\n");
    }
}
