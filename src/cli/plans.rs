//! `plan show` and `plan save`: what a plan offers before anything runs, and a session as a plan.

use std::path::Path;
use std::time::Duration;

use super::args::{PlanSaveArgs, PlanShowArgs};
use super::meant::{ITEM_BYTES, SEEDED_ITEMS};
use super::{Refusal, print, write_out};
use crate::analysis::cost::{Price, Prices, worst_case_usd};
use crate::analysis::prediction::Capacity;
use crate::load::{Keys, Op, Rate, Share, thousands};
use crate::plan::{Plan, PlanWindow, find, parse, presets, show_span, to_toml};
use crate::report::{self, Document, document, load_document};
use crate::session::guard::bill;

pub(super) fn show(args: &PlanShowArgs) -> Result<(), Refusal> {
    let plan = find(&args.plan).map_err(Refusal::usage)?;
    if !args.toml {
        return print(&shown(&plan, &args.region));
    }
    let shipped = presets().iter().find(|preset| preset.plan.name == args.plan).map(|preset| preset.text.to_owned());
    print(&shipped.map_or_else(|| std::fs::read_to_string(&args.plan), Ok).map_err(|e| Refusal::failed(e.to_string()))?)
}

fn shown(plan: &Plan, region: &str) -> String {
    let mut lines = format!("{}: {}\n\n", plan.name, plan.about);
    lines.push_str("  #  label          op          offered/s   length  pause before    bytes  keys        operations\n");
    for (index, window) in plan.windows.iter().enumerate() {
        let bytes = window.item_bytes.or(plan.item_bytes).unwrap_or(ITEM_BYTES);
        let keys = window.keys.or(plan.keys).unwrap_or_default();
        let until = window.until.map_or_else(String::new, |until| format!(" at most, until {until}"));
        lines.push_str(&format!(
            "{:>3}  {:<13}  {:<8}  {:>11}  {:>7}  {:>12}  {:>7}  {keys:<10}  {:>10}{until}\n",
            index + 1,
            report::clean(&window.label).chars().take(13).collect::<String>(),
            window.op_in_words(),
            window.rate_in_words(),
            show_span(window.length),
            show_span(window.pause),
            thousands(bytes.into()),
            thousands(window.operations()),
        ));
    }
    let most = if plan.is_exact() { "" } else { "at most " };
    lines.push_str(&format!(
        "\n{}, {most}{}, {most}{} operations{}\n",
        if plan.windows.len() == 1 { "1 window".to_owned() } else { format!("{} windows", plan.windows.len()) },
        show_span(plan.duration()),
        thousands(plan.operations()),
        if plan.reads() { format!(", {} items seeded first", thousands(plan.items.unwrap_or(SEEDED_ITEMS))) } else { String::new() }
    ));
    let price = Prices::find(region);
    lines.push_str(&match price {
        Some(price) => {
            format!(
                "at most ${:.2} in {region} (list prices of {}): every operation accepted\n",
                bill(plan, price, plan.items.unwrap_or(SEEDED_ITEMS), ITEM_BYTES, false),
                Prices::shipped().as_of
            )
        }
        None => format!("the price in {region} is not known here; `run` needs --price-write and --price-read to guard --max-cost there\n"),
    });
    lines.push_str(&expected(plan, price));
    lines
}

/// What a search takes on a table as the documentation describes a fresh one.
fn expected(plan: &Plan, price: Option<Price>) -> String {
    let (Some(search), Some(first)) = (plan.search, plan.windows.first()) else { return String::new() };
    let bytes = first.item_bytes.or(plan.item_bytes).unwrap_or(ITEM_BYTES);
    let consistent = plan.consistent_read.unwrap_or_default();
    let units = crate::analysis::units_per_request(search.op, bytes, consistent);
    let capacity = Capacity::fresh(search.op).units_per_s / units;
    let outlook = search.outlook(first, capacity, capacity);
    let money = price.map_or_else(String::new, |price| {
        format!(", at most ${:.2}", worst_case_usd(outlook.operations, search.op, bytes, consistent, price))
    });
    format!(
        "on a table that accepts {} {}/s and one second of it as a burst, as documented for a fresh one: {} windows, {}, {} operations{money}\n",
        crate::analysis::per_s_in_words(capacity),
        search.op.plural(),
        outlook.windows,
        show_span(Duration::from_secs(outlook.duration.as_secs())),
        thousands(outlook.operations)
    )
}

pub(super) fn save(args: &PlanSaveArgs) -> Result<(), Refusal> {
    let document = load_document(&args.session).map_err(Refusal::usage)?;
    let plan = plan_of(&document, args.name.as_deref()).map_err(Refusal::usage)?;
    let text = to_toml(&plan);
    // What is written is what `run --plan` will read.
    parse(&text, "this session").map_err(|e| Refusal::usage(e.to_string()))?;
    let Some(out) = args.out.as_deref().filter(|out| *out != Path::new("-")) else { return print(&text) };
    write_out(out, &text, args.force)
}

/// The windows of a session as a plan. What was steered through in under a second, too short to be windows, is offered at its mean
/// rate; lengths and pauses of hand-steered windows are rounded to whole seconds.
fn plan_of(document: &Document, name: Option<&str>) -> Result<Plan, String> {
    let workload = &document.workload;
    let by_plan = document.plan.is_some();
    let rounded = |seconds: f64| {
        let grid = if by_plan { 10.0 } else { 1.0 };
        Duration::from_millis(((seconds * grid).round() / grid * 1_000.0).round().max(0.0) as u64)
    };
    let mut windows: Vec<PlanWindow> = Vec::new();
    let mut before: Option<f64> = None;
    for window in &document.windows {
        let (start, seconds) = (window.start_s.get().unwrap_or_default(), window.duration_s.get().unwrap_or_default());
        if window.beside.is_some_and(|beside| beside < window.index) {
            continue;
        }
        let other = window.beside.and_then(|beside| document.windows.iter().find(|one| one.index == beside));
        let (length, gap) = (rounded(seconds), before.map_or(Duration::ZERO, |end| rounded(start - end)));
        before = Some(start + seconds);
        let offered = window.offered_per_s.get().or((seconds > 0.0).then(|| window.counts.offered as f64 / seconds));
        let (Some(rate), true) = (offered.filter(|rate| *rate > 0.0), length >= Duration::from_secs(1)) else { continue };
        let of = |per_s: f64| Rate::from_per_s(per_s + other.and_then(|o| o.offered_per_s.get()).unwrap_or_default());
        let rate_all = of(rate).map_err(|e| e.to_string())?;
        let reads = other.and_then(|other| Share::new(other.offered_per_s.get()? / rate_all.per_s()));
        let to = window.offered_to_per_s.get().map(|to| to + other.and_then(|o| o.offered_to_per_s.get()).unwrap_or_default());
        windows.push(PlanWindow {
            label: planned_label(window),
            reads,
            ramp_to: to.and_then(|to| Rate::from_per_s(to).ok()),
            item_bytes: window.item_bytes,
            keys: window.keys.as_deref().map(str::parse).transpose()?,
            ..PlanWindow::steady(window.op, rate_all, length, gap)
        });
    }
    if windows.is_empty() {
        return Err(format!("session {} has no window of a second or more; there is nothing to offer again", document.session.id));
    }
    let id: String = document.session.id.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).collect();
    let about = format!("What session {id} of {} offered.", document.session.started_at);
    let reads = windows.iter().any(|window| window.op == Op::Read || window.reads.is_some());
    let mut plan = Plan::of(name.map_or_else(|| format!("from-{id}"), str::to_owned), about, windows);
    plan.item_bytes = Some(workload.item_bytes);
    plan.keys = Some(workload.keys.parse::<Keys>()?);
    plan.items = workload.items.filter(|_| reads);
    plan.consistent_read = reads.then_some(workload.consistent_read);
    Ok(plan)
}

fn planned_label(window: &document::Window) -> String {
    let label = match window.beside {
        Some(_) => window.label.trim_end_matches(" (writes)").trim_end_matches(" (reads)"),
        None => &window.label,
    };
    let label: String = report::clean(label).chars().take(60).collect();
    if label.is_empty() { format!("window {}", window.index + 1) } else { label }
}
