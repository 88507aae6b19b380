//! A comparison as text: plain ASCII, at most [`WIDTH`] columns.

use super::super::clean::clean_ascii;
use super::super::figures::{rate, whole};
use super::super::text::WIDTH;
use super::{Against, Comparison, Figure, Judgement, Setup, Spread, SpreadFigure, WindowName, WindowPair};

/// A comparison in words and figures.
pub fn text(comparison: &Comparison) -> String {
    let mut page = String::new();
    if simulated(comparison) {
        say(&mut page, 0, "SIMULATED: the simulated endpoint answered at least one of these, not AWS.");
    }
    say(&mut page, 0, &format!("BASE  {}", head(&comparison.base)));
    for (index, one) in comparison.against.iter().enumerate() {
        if comparison.against.len() > 1 {
            page.push('\n');
        }
        let number = if comparison.against.len() > 1 { format!(" ({} of {})", index + 1, comparison.against.len()) } else { String::new() };
        say(&mut page, 0, &format!("NEW   {}{number}", head(&one.new)));
        against(&mut page, one);
    }
    for spread in &comparison.spread {
        page.push('\n');
        page.push_str(&spread_text(spread));
    }
    page.push('\n');
    say(&mut page, 0, &comparison.method);
    page
}

pub(super) fn simulated(comparison: &Comparison) -> bool {
    comparison.base.simulated || comparison.against.iter().any(|one| one.new.simulated)
}

/// A paragraph, wrapped; the lines after the first are indented.
fn say(page: &mut String, indent: usize, paragraph: &str) {
    let paragraph = clean_ascii(paragraph);
    let (first, next) = (" ".repeat(indent), " ".repeat(indent + 2));
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(&first)
        .subsequent_indent(&next)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    for line in textwrap::wrap(&paragraph, options) {
        row(page, &line);
    }
}

fn row(page: &mut String, line: &str) {
    let line: String = line.chars().take(WIDTH).collect();
    page.push_str(line.trim_end());
    page.push('\n');
}

fn head(setup: &Setup) -> String {
    format!("{}: session {}, {}", setup.name, setup.session, setup.started_at)
}

fn against(page: &mut String, one: &Against) {
    page.push('\n');
    for sentence in &one.verdict {
        say(page, 0, sentence);
    }
    page.push('\n');
    if one.differs.is_empty() {
        say(page, 0, "The set-ups are the same.");
    } else {
        row(page, "Set-ups differ in       BASE                              NEW");
        for difference in &one.differs {
            row(page, &format!("  {:<20}  {:<32}  {}", difference.what, difference.base, difference.new));
        }
    }
    page.push('\n');
    row(page, "window        figure                  BASE              NEW  difference");
    if let Some(sustained) = &one.sustained {
        figure_row(page, "session", sustained);
    }
    for pair in &one.windows {
        for (index, figure) in pair.figures.iter().enumerate() {
            figure_row(page, &if index == 0 { name(&pair.base) } else { String::new() }, figure);
        }
        not_called(page, pair);
    }
    for (who, windows) in [("BASE", &one.only_in_base), ("NEW", &one.only_in_new)] {
        if !windows.is_empty() {
            say(
                page,
                0,
                &format!(
                    "Only in {who}: {}.",
                    windows.iter().map(|w| format!("#{} {} {}", w.number, w.label, w.op)).collect::<Vec<_>>().join(", ")
                ),
            );
        }
    }
}

fn not_called(page: &mut String, pair: &WindowPair) {
    if let Some(why) = &pair.not_called {
        say(page, 14, &format!("not compared: {why}"));
    }
}

pub(super) fn name(window: &WindowName) -> String {
    clean_ascii(&format!("#{} {}", window.number, window.label))
}

fn figure_row(page: &mut String, window: &str, figure: &Figure) {
    let [base, new, difference, said] = cells(figure);
    let what = format!("{} {}", figure.what, figure.unit);
    row(page, &format!("{:<12}  {what:<16}  {base:>16}  {new:>15}  {difference:>9}  {said}", window.chars().take(12).collect::<String>()));
}

/// Base, new, difference, and what is said about it.
pub(super) fn cells(figure: &Figure) -> [String; 4] {
    let side = |side: Option<super::Value>| {
        let Some(value) = side else { return "-".to_owned() };
        let half = value.ci95.and_then(|[low, high]| Some((high.get()? - low.get()?) / 2.0));
        format!("{}{}", number(value.value.get(), figure.unit), half.map_or(String::new(), |half| format!(" +/-{}", small(half))))
    };
    let difference = figure.difference.get().map_or("-".to_owned(), |share| format!("{:+.2} %", share * 100.0));
    let said = match figure.judgement {
        Judgement::Differs => format!("DIFFERS, {}", chance(figure)),
        Judgement::NoDifference => format!("same, {}", chance(figure)),
        Judgement::NotComparable => "not compared".to_owned(),
        Judgement::NoData => "no data".to_owned(),
    };
    [side(figure.base), side(figure.new), difference, said]
}

fn chance(figure: &Figure) -> String {
    match figure.p_of_all.get() {
        Some(p) if p < 0.001 => "p < 0.001".to_owned(),
        Some(p) => format!("p = {p:.3}"),
        None => "not tested".to_owned(),
    }
}

/// Half the width of an interval, to two or three digits.
fn small(half: f64) -> String {
    match half.abs() {
        half if half >= 100.0 => format!("{half:.0}"),
        half if half >= 1.0 => format!("{half:.1}"),
        half if half >= 0.1 => format!("{half:.2}"),
        half => format!("{half:.3}"),
    }
}

pub(super) fn number(value: Option<f64>, unit: &str) -> String {
    match unit {
        // Differences of a per cent must be seen.
        "ms" => value.map_or("-".to_owned(), |ms| if ms < 100.0 { format!("{ms:.2}") } else { format!("{ms:.1}") }),
        "units" => whole(value),
        "s" => value.map_or("-".to_owned(), |s| format!("{s:.2}")),
        _ => rate(value),
    }
}

/// The spread between tables, as text.
pub fn spread_text(spread: &Spread) -> String {
    let mut page = String::new();
    let simulated = if spread.simulated { "SIMULATED: " } else { "" };
    say(
        &mut page,
        0,
        &format!("{simulated}{} tables treated alike, which one run cannot know: {}", spread.names.len(), spread.names.join(", ")),
    );
    row(&mut page, "window        figure                  mean   95 % of the mean  deviation       min       max  tables");
    for (index, figure) in spread.session.iter().enumerate() {
        spread_row(&mut page, if index == 0 { "session" } else { "" }, figure);
    }
    for window in &spread.windows {
        for (index, figure) in window.figures.iter().enumerate() {
            spread_row(&mut page, &if index == 0 { name(&window.window) } else { String::new() }, figure);
        }
    }
    page
}

fn spread_row(page: &mut String, window: &str, figure: &SpreadFigure) {
    let what = format!("{} {}", figure.what, figure.unit);
    let [mean, interval, deviation, min, max] = spread_cells(figure);
    row(
        page,
        &format!(
            "{:<12}  {what:<16}  {mean:>8}  {interval:>17}  {deviation:>9}  {min:>8}  {max:>8}  {:>6}",
            window.chars().take(12).collect::<String>(),
            figure.tables
        ),
    );
}

/// Mean, its interval, deviation, smallest, largest.
pub(super) fn spread_cells(figure: &SpreadFigure) -> [String; 5] {
    let number = |value: Option<f64>| number(value, figure.unit);
    let interval = figure.ci95.map_or("-".to_owned(), |[low, high]| format!("{} to {}", number(low.get()), number(high.get())));
    let deviation = figure.deviation.get().map_or("-".to_owned(), small);
    [number(figure.mean.get()), interval, deviation, number(figure.min.get()), number(figure.max.get())]
}
