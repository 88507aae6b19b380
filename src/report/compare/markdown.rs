//! A comparison as Markdown tables.

use super::super::clean::clean;
use super::text::{cells, name, simulated, spread_cells};
use super::{Against, Comparison, Spread};

/// A comparison as Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let mut page = String::from("# Comparison\n\n");
    if simulated(comparison) {
        page.push_str("**SIMULATED**: the simulated endpoint answered at least one of these, not AWS.\n\n");
    }
    let base = &comparison.base;
    page.push_str(&format!("BASE: {}, session {}, {}\n", cell(&base.name), cell(&base.session), cell(&base.started_at)));
    for one in &comparison.against {
        against(&mut page, one);
    }
    for group in &comparison.spread {
        spread(&mut page, group);
    }
    page.push_str(&format!("\n{}\n", comparison.method));
    page
}

/// Text that breaks no table and starts no markup.
fn cell(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in clean(text).chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' | '#') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

fn row(page: &mut String, cells: &[String]) {
    page.push_str(&format!("| {} |\n", cells.join(" | ")));
}

fn heads(page: &mut String, heads: &[&str], numbers_from: usize) {
    page.push_str(&format!("\n| {} |\n|", heads.join(" | ")));
    for index in 0..heads.len() {
        page.push_str(if index < numbers_from { "---|" } else { "---:|" });
    }
    page.push('\n');
}

fn against(page: &mut String, one: &Against) {
    page.push_str(&format!("\n## NEW: {}, session {}, {}\n\n", cell(&one.new.name), cell(&one.new.session), cell(&one.new.started_at)));
    for sentence in &one.verdict {
        page.push_str(&format!("* {}\n", cell(sentence)));
    }
    if !one.differs.is_empty() {
        heads(page, &["set-up", "BASE", "NEW"], 3);
        for difference in &one.differs {
            row(page, &[difference.what.to_owned(), cell(&difference.base), cell(&difference.new)]);
        }
    }
    heads(page, &["window", "figure", "BASE", "NEW", "difference", "judgement"], 2);
    let session = one.sustained.iter().map(|figure| ("session".to_owned(), figure));
    let windows = one.windows.iter().flat_map(|pair| pair.figures.iter().map(|figure| (cell(&name(&pair.base)), figure)));
    for (window, figure) in session.chain(windows) {
        let [base, new, difference, said] = cells(figure);
        row(page, &[window, format!("{}, {}", figure.what, figure.unit), base, new, difference, said]);
    }
    for pair in &one.windows {
        if let Some(why) = &pair.not_called {
            page.push_str(&format!("\n{}: not compared, since {}\n", cell(&name(&pair.base)), cell(why)));
        }
    }
    for (who, windows) in [("BASE", &one.only_in_base), ("NEW", &one.only_in_new)] {
        for window in windows {
            page.push_str(&format!("\nOnly in {who}: {} {}\n", cell(&name(window)), window.op));
        }
    }
}

fn spread(page: &mut String, spread: &Spread) {
    let names: Vec<String> = spread.names.iter().map(|name| cell(name)).collect();
    page.push_str(&format!("\n## Spread between {} tables treated alike\n\n{}\n", names.len(), names.join(", ")));
    heads(page, &["window", "figure", "mean", "95 % of the mean", "deviation", "min", "max", "tables"], 2);
    let session = spread.session.iter().map(|figure| ("session".to_owned(), figure));
    let windows = spread.windows.iter().flat_map(|window| window.figures.iter().map(|figure| (cell(&name(&window.window)), figure)));
    for (window, figure) in session.chain(windows) {
        let [mean, interval, deviation, min, max] = spread_cells(figure);
        row(page, &[window, format!("{}, {}", figure.what, figure.unit), mean, interval, deviation, min, max, figure.tables.to_string()]);
    }
}
