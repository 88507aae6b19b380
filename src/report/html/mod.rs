//! The HTML rendering: one file that needs nothing else, in light and dark, on a phone and at a desk.

mod axis;
mod chart;
mod pictures;
mod series;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::document::Document;
use super::sheet::{self, Answer, Fact, Table};
use chart::view_box;
use pictures::{Picture, SIZES};

const STYLE: &str = include_str!("../../../assets/report/style.css");
/// Nothing is loaded and nothing runs, whatever the page holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A session document as a page. SIMULATED stands above all, in the title and in the charts where the simulated endpoint
/// answered.
///
/// # Errors
/// What the drawing library says.
pub fn html(document: &Document) -> Result<String, String> {
    let title = sheet::heading(document);
    let rates = picture(&pictures::rates(document), "their mean rate")?;
    let latency = picture(&pictures::latency(document), "the largest of their percentiles")?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content={ "throttlescope " (super::clean(&document.tool.version)) };
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @if document.target.simulated {
                    p.simulated role="note" { strong { "SIMULATED" } (sheet::SIMULATED.trim_start_matches("SIMULATED")) }
                }
                main {
                    h1 { (title) }
                    (verdict(document))
                    (key_figures(document))
                    @if !document.windows.is_empty() {
                        (rates)
                        (latency)
                    }
                    (windows(document))
                    (table(2, &sheet::steps(document)))
                    (table(2, &sheet::claims(document)))
                    (throttling(document))
                    (table(2, &sheet::failures(document)))
                    (events(document))
                    h2 { "Method" }
                    (facts(&sheet::definitions()))
                    h2 { "Environment" }
                    (facts(&sheet::when(document)))
                    (facts(&sheet::environment(document)))
                }
            }
        }
    };
    Ok(page.into_string())
}

fn verdict(document: &Document) -> Markup {
    let (words, evidence, caveats) = sheet::why(document);
    let (kind, says) = words.split_once(": ").unwrap_or((words, ""));
    html! {
        section.verdict.(document.verdict.kind.name()) aria-labelledby="verdict" {
            h2 #verdict { (kind) }
            p { (capital(says)) "." }
            (list(&evidence))
            @if !caveats.is_empty() {
                h3 { "Reasons to distrust these figures" }
                (list(&caveats))
            }
        }
    }
}

fn capital(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn key_figures(document: &Document) -> Markup {
    html! {
        h2 { "Key figures" }
        dl.keys {
            @for figure in sheet::key_figures(document) {
                div {
                    dt { (figure.name) }
                    dd { (figure.value) }
                    @if !figure.note.is_empty() { dd.note { (figure.note) } }
                }
            }
        }
    }
}

fn picture(picture: &Picture, joined: &str) -> Result<Markup, String> {
    let mut drawn = Vec::new();
    for (at, (size_name, size)) in SIZES.into_iter().enumerate() {
        let inner = picture.charts[at].draw(size).map_err(|e| format!("the chart of {} cannot be drawn: {e}", picture.title))?;
        let (title, told) = (format!("{}-{size_name}-title", picture.id), format!("{}-{size_name}-told", picture.id));
        let (frame, joining) = (view_box(size), picture.joining(at, joined));
        drawn.push(html! {
            div.(size_name) {
                svg viewBox=(frame) role="img" aria-labelledby={ (title) " " (told) } {
                    title id=(title) { (picture.title) }
                    desc id=(told) { (picture.told) }
                    (PreEscaped(inner))
                }
                @if let Some(joining) = joining { p.note { (joining) } }
            }
        });
    }
    Ok(html! {
        h2 { (picture.title) }
        figure {
            ul.legend {
                @for (ink, name) in &picture.keys {
                    li { span.(ink.name()) aria-hidden="true" {} (name) }
                }
            }
            @for chart in drawn { (chart) }
        }
    })
}

fn windows(document: &Document) -> Markup {
    html! {
        (table(2, &sheet::rates(document)))
        @if let Some(sentence) = sheet::average_in_words(document) { p { (sentence) } }
        (table(3, &sheet::counts(document)))
        (table(3, &sheet::latencies(document)))
        @for (title, sentences) in [("What each verdict rests on", sheet::evidence(document)), ("Caveats of windows", sheet::caveats(document))] {
            @if !sentences.is_empty() {
                h3 { (title) }
                (list(&sentences))
            }
        }
    }
}

fn throttling(document: &Document) -> Markup {
    let answers = sheet::throttles(document);
    html! {
        @if !answers.is_empty() {
            h2 { "Throttles" }
            @for answer in &answers { (throttle(answer)) }
            @if let Some(sentence) = sheet::monitor_in_words(document) { p { (sentence) } }
            (table(3, &sheet::hottest_keys(document)))
            (table(3, &sheet::contrast(document)))
            @if let Some(sentence) = sheet::contrast_in_words(document) { p { (sentence) } }
        }
    }
}

fn throttle(answer: &Answer) -> Markup {
    html! {
        p { strong { (answer.what) } br; (answer.when) }
        blockquote { (answer.message) }
        @if let Some(meaning) = &answer.meaning { p { (meaning) } }
    }
}

fn heading(level: usize, title: &str) -> Markup {
    html! {
        @if level == 2 { h2 { (title) } } @else { h3 { (title) } }
    }
}

/// A table with its heading, in a box that scrolls where the page is narrower; nothing where it has no rows.
fn table(level: usize, table: &Table) -> Markup {
    html! {
        @if !table.is_empty() {
            (heading(level, table.title))
            (rows(table))
        }
    }
}

fn rows(table: &Table) -> Markup {
    let class = |at: usize| if table.columns.get(at).is_some_and(|column| column.figures) { "figure" } else { "word" };
    html! {
        div.scroll role="region" tabindex="0" aria-label=(table.title) {
            table {
                thead {
                    tr { @for (at, column) in table.columns.iter().enumerate() { th.(class(at)) scope="col" { (column.name) } } }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                @if at == 0 { th.(class(at)) scope="row" { (cell) } } @else { td.(class(at)) { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What happened, folded: there may be much of it.
fn events(document: &Document) -> Markup {
    let events = sheet::events(document);
    html! {
        @if !events.is_empty() {
            (heading(2, events.title))
            details {
                summary { "All " (events.rows.len()) " events, from the start of the session" }
                (rows(&events))
            }
        }
    }
}

fn list(items: &[String]) -> Markup {
    html! {
        @if !items.is_empty() {
            ul { @for item in items { li { (item) } } }
        }
    }
}

fn facts(facts: &[Fact]) -> Markup {
    html! {
        dl.facts {
            @for fact in facts {
                dt { (fact.name) }
                dd { (fact.text) }
            }
        }
    }
}
