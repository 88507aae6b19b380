//! What a page says of the ceiling besides the table of windows: units, what a mean is made of, and steps.

use super::super::document::{Document, Step, Window};
use super::super::figures::{rate, seconds, whole};
use super::Page;

pub(super) fn say(document: &Document, page: &mut Page) {
    units(document, page);
    means(document, page);
    steps(document, page);
}

/// Rates in capacity units, where a request is not one.
fn units(document: &Document, page: &mut Page) {
    let differ = |w: &&Window| match (w.accepted_per_s.get(), w.accepted_units_per_s.get()) {
        (Some(requests), Some(units)) => (requests - units).abs() > 1e-3 * requests,
        _ => false,
    };
    let said: Vec<String> = document
        .windows
        .iter()
        .filter(differ)
        .map(|w| format!("#{} {}/{}", w.index + 1, rate(w.accepted_units_per_s.get()), rate(w.sustained_units_per_s.get())))
        .collect();
    if !said.is_empty() {
        page.say(2, 4, &format!("in capacity units/s, accepted/sustained: {}", said.join(", ")));
    }
}

/// A mean over a whole window is no ceiling: what it is made of.
fn means(document: &Document, page: &mut Page) {
    let said: Vec<String> = document
        .windows
        .iter()
        .filter_map(|w| {
            let (mean, sustained, span) = (w.accepted_per_s.get()?, w.sustained_per_s.get()?, w.duration_s.get()?);
            let burst = (mean - sustained) * span;
            (w.burst_units.get().is_some() && burst >= 1.0).then(|| {
                let figures = (rate(Some(mean)), rate(Some(sustained)), whole(Some(burst)), seconds(Some(span)));
                format!("#{} {} = {} + {}/{}", w.index + 1, figures.0, figures.1, figures.2, figures.3)
            })
        })
        .collect();
    if !said.is_empty() {
        page.say(2, 4, &format!("mean over the window = sustained + the burst spread over it: {}", said.join(", ")));
    }
}

fn steps(document: &Document, page: &mut Page) {
    if document.steps.is_empty() {
        return;
    }
    page.gap();
    page.row("  steps of the ceiling (accepted rate while over-driven)");
    for step in &document.steps {
        let Step { window, at_s, from_per_s, to_per_s, dwell_s, confidence, between_windows } = step;
        let dwell = dwell_s.get().map_or(String::new(), |s| format!(" after {} under load", seconds(Some(s))));
        let sure = match confidence.get() {
            None => String::new(),
            Some(c) if c > 0.999 => ", confidence over 0.999".to_owned(),
            Some(c) => format!(", confidence {c:.3}"),
        };
        let place = window.map_or(String::new(), |index| {
            if *between_windows { format!(", before #{} or while its burst ran out", index + 1) } else { format!(" in #{}", index + 1) }
        });
        page.say(
            4,
            6,
            &format!("at {}{place}: {} -> {}/s{dwell}{sure}", seconds(at_s.get()), rate(from_per_s.get()), rate(to_per_s.get())),
        );
    }
}
