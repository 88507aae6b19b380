//! The plans: which there are, and what the chosen one will do and cost at most.

use std::time::Duration;

use ratatui::layout::Rect;

use super::text::{Canvas, Piece, clean, piece, wrap};
use crate::analysis::units_per_request;
use crate::load::Op;
use crate::plan::{Plan, PlanWindow, presets};
use crate::report::Recording;
use crate::tui::app::App;
use crate::tui::figures;
use crate::tui::layout::split_left;
use crate::tui::theme::Role;

const WIDTH: u16 = 72;
const NAMES: u16 = 16;

/// Draws the list and the preview of the chosen plan.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App, chosen: usize) {
    let Some(plan) = presets().get(chosen).map(|preset| &preset.plan) else { return };
    let preview = preview(plan, &app.newest, WIDTH - NAMES - 2);
    let inside = canvas.panel(area, "run a plan", WIDTH, preview.len().max(presets().len()) as u16);
    let (left, right) = split_left(inside, NAMES, 2);
    for (row, preset) in presets().iter().enumerate() {
        let is_chosen = row == chosen;
        let pointer = if is_chosen { canvas.look.glyphs.pointer } else { " " };
        let role = if is_chosen { Role::Chosen } else { Role::Text };
        canvas.line(left, row as u16, &[piece(Role::Accent, pointer), piece(role, format!(" {} ", preset.plan.name))]);
    }
    canvas.lines(right, preview.iter().take(right.height.into()));
}

/// What a plan will do, in lines of at most `width` columns.
fn preview(plan: &Plan, recording: &Recording, width: u16) -> Vec<Vec<Piece>> {
    let mut lines: Vec<Vec<Piece>> = wrap(&plan.about, width).into_iter().map(|line| vec![piece(Role::Text, line)]).collect();
    lines.push(Vec::new());
    let row = |label: &str, text: String| vec![piece(Role::Quiet, format!("{label:<11}")), piece(Role::Strong, text)];
    lines.push(row("windows", plan.windows.len().to_string()));
    let most = if plan.is_exact() { "" } else { "at most " };
    lines.push(row("takes", format!("{most}{}", figures::span(plan.duration()))));
    lines.push(row("operations", format!("{most}{}", figures::count(plan.operations()))));
    let cost = worst_cost(plan, recording);
    let simulated = if recording.target.simulated { " if it were AWS; simulated is free" } else { " at most" };
    lines.push(row("cost", cost.map_or_else(|| "price not known".to_owned(), |usd| format!("{}{simulated}", figures::usd(Some(usd))))));
    lines.push(Vec::new());
    for window in plan.windows.iter().take(8) {
        let pause = if window.pause > Duration::ZERO { format!(" after {} of pause", figures::span(window.pause)) } else { String::new() };
        lines.push(vec![
            piece(Role::Text, format!("{:>9}/s ", window.rate_in_words())),
            piece(Role::Quiet, format!("{}{} for {}{pause}", sized(window), what(window), figures::span(window.length))),
        ]);
    }
    if plan.windows.len() > 8 {
        lines.push(vec![piece(Role::Quiet, clean(&format!("... and {} more", plan.windows.len() - 8)))]);
    }
    lines
}

fn what(window: &PlanWindow) -> String {
    if window.reads.is_some() { window.op_in_words() } else { window.op.plural().to_owned() }
}

/// The size of the items and their keys, where they are the window's own.
fn sized(window: &PlanWindow) -> String {
    let bytes = window.item_bytes.map_or_else(String::new, |bytes| format!("{} B ", figures::count(bytes.into())));
    window.keys.map_or_else(|| bytes.clone(), |keys| format!("{bytes}{keys} "))
}

/// Money a plan can cost at most, USD: every operation accepted and billed.
fn worst_cost(plan: &Plan, recording: &Recording) -> Option<f64> {
    let consistent = plan.consistent_read.unwrap_or(recording.workload.consistent_read);
    let mut sum = 0.0;
    for demand in plan.demands().iter().filter(|demand| demand.operations > 0) {
        let bytes = demand.item_bytes.unwrap_or(recording.workload.item_bytes).max(1);
        let price = match demand.op {
            Op::Write => recording.cost.write_usd_per_million,
            Op::Read => recording.cost.read_usd_per_million,
        };
        sum += demand.operations as f64 * units_per_request(demand.op, bytes, consistent) * price? / 1e6;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Cost;

    #[test]
    fn the_worst_case_bills_every_operation_and_is_unknown_without_a_price() {
        let mut recording = Recording::default();
        recording.workload.item_bytes = 1_000;
        let quick = crate::plan::find("quick").expect("shipped");
        assert_eq!(worst_cost(&quick, &recording), None);
        recording.cost = Cost { write_usd_per_million: Some(0.625), read_usd_per_million: None, usd: None };
        let cost = worst_cost(&quick, &recording).expect("priced");
        assert!((cost - quick.operations() as f64 * 0.625 / 1e6).abs() < 1e-9);
        recording.workload.item_bytes = 1_025;
        assert!((worst_cost(&quick, &recording).expect("priced") - 2.0 * cost).abs() < 1e-9);
        assert_eq!(worst_cost(&crate::plan::find("reads").expect("shipped"), &recording), None);
    }
}
