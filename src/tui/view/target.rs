//! The target: where requests go, the life of the table, its partitions where they are known, and the guards.

use std::time::Duration;

use ratatui::layout::Rect;

use super::facts::{fact, time_to_active};
use super::header::in_flight;
use super::text::{Canvas, Piece, clean, piece};
use crate::load::Offset;
use crate::report::Recording;
use crate::report::replay::Kept;
use crate::tui::app::App;
use crate::tui::figures;
use crate::tui::layout::split_left;
use crate::tui::theme::Role;

/// Newest claims of the service that are shown.
const CLAIMS: usize = 6;
/// Widest bar of a partition.
const BAR: usize = 10;

/// Draws the view.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let beside = area.width >= 96;
    let (left, right) = if beside { split_left(area, area.width * 11 / 20, 2) } else { (area, Rect { height: 0, ..area }) };
    let mut lines = target(app);
    let mut more = timeline(app);
    more.extend(claims(&app.shown));
    more.extend(partitions(canvas, &app.shown));
    if beside {
        let right = canvas.heading(right, "timeline", &[]);
        canvas.lines(right, &more);
    } else {
        lines.append(&mut more);
    }
    let left = canvas.heading(left, "target", &[]);
    canvas.lines(left, lines.iter().skip(usize::from(app.scroll).min(lines.len().saturating_sub(1))));
}

fn target(app: &App) -> Vec<Vec<Piece>> {
    let recording = &app.shown;
    let (target, work, session) = (&recording.target, &recording.workload, &recording.session);
    let text = |value: &str| if value.is_empty() { figures::NOTHING.to_owned() } else { clean(value) };
    let kind = if target.simulated { "simulated endpoint, not AWS" } else { target.kind.name() };
    let owner = if target.created_by_session { "created here, deleted at the end" } else { "existed before, is never deleted" };
    let warm = target.warm_throughput.map_or_else(dash, |(w, r)| format!("{} writes/s, {} reads/s", figures::count(w), figures::count(r)));
    let most = target.max_units.map_or_else(dash, |(w, r)| format!("{} writes/s, {} reads/s", figures::count(w), figures::count(r)));
    let consistency = if work.consistent_read { "strongly consistent" } else { "eventually consistent" };
    vec![
        fact("target", if target.simulated { Role::Warning } else { Role::Strong }, kind),
        fact("endpoint", Role::Text, text(&target.endpoint)),
        fact("region", Role::Text, text(&target.region)),
        fact("table", Role::Strong, text(&target.table)),
        fact("", Role::Quiet, if target.table.is_empty() { figures::NOTHING } else { owner }),
        fact("billing", Role::Text, text(&target.billing_mode)),
        fact("warm throughput", Role::Text, warm),
        fact("at most", Role::Text, most),
        Vec::new(),
        fact(
            "workload",
            Role::Text,
            format!("{} of {} B, keys {}", work.op.plural(), figures::count(work.item_bytes.into()), text(&work.keys)),
        ),
        fact("reads", Role::Text, consistency),
        fact(
            "client",
            Role::Text,
            format!("{}, shards {}, timeout {}", text(&session.client), work.shards, figures::seconds(Some(work.timeout_s))),
        ),
        Vec::new(),
        guard(app, "guard money", session.max_cost_usd.map(|most| figures::usd(Some(most))), &figures::usd(recording.cost.usd)),
        guard(app, "guard ops", session.max_ops.map(figures::count), &figures::count(recording.load.totals.offered)),
        guard(
            app,
            "guard time",
            session.max_duration_s.map(|most| figures::span(Duration::from_secs_f64(most.clamp(0.0, 1e9)))),
            &figures::span(Duration::from_nanos(app.shown_now().nanos())),
        ),
        guard(
            app,
            "in-flight cap",
            (work.max_in_flight > 0).then(|| figures::count(work.max_in_flight.into())),
            &in_flight(recording).map_or_else(dash, |level| figures::count(level.into())),
        ),
        Vec::new(),
    ]
}

fn guard(app: &App, label: &str, most: Option<String>, used: &str) -> Vec<Piece> {
    let told = app.shown.playback.is_none_or(|playback| playback.kept == Kept::Journal);
    match most {
        None if !told => fact(label, Role::Quiet, format!("{used}; a document does not tell the limit")),
        Some(most) => fact(label, Role::Text, format!("{used} of {most}")),
        None => fact(label, Role::Quiet, format!("{used}, no limit")),
    }
}

fn timeline(app: &App) -> Vec<Vec<Piece>> {
    let recording = &app.shown;
    let target = &recording.target;
    let at = |when: Option<Offset>| when.map_or_else(dash, |when| format!("T+{:.2} s", when.secs()));
    let (role, active) = time_to_active(app);
    let accepted = recording.load.first_accepted;
    let gap = target.active.zip(accepted).map(|(active, first)| first.since(active).as_secs_f64());
    let deleted = match (target.delete_confirmed_s, target.deleted) {
        (Some(seconds), _) => format!("gone after {}", figures::seconds(Some(seconds))),
        (None, true) => "asked for, not confirmed yet".to_owned(),
        (None, false) => figures::NOTHING.to_owned(),
    };
    vec![
        fact("CreateTable", Role::Text, at(target.create_called)),
        fact("ACTIVE", Role::Text, at(target.active)),
        fact("time to ACTIVE", role, active),
        fact("first accepted", Role::Text, at(accepted)),
        fact("after ACTIVE", Role::Text, figures::seconds(gap)),
        fact("deleted", Role::Text, deleted),
        Vec::new(),
    ]
}

/// What the service said that the table can do, over time, and what was measured.
fn claims(recording: &Recording) -> Vec<Vec<Piece>> {
    if recording.claims.is_empty() {
        return Vec::new();
    }
    let pair = |units: Option<(u64, u64)>| units.map_or_else(dash, |(w, r)| format!("{} / {}", figures::count(w), figures::count(r)));
    let head = format!("{:<17} {:<9}{:>16} {:>16}", "", "status", "warm W / R", "most W / R");
    let mut lines = vec![vec![piece(Role::Heading, "DescribeTable said")], vec![piece(Role::Quiet, head)]];
    let hidden = recording.claims.len().saturating_sub(CLAIMS);
    for claim in recording.claims.iter().skip(hidden) {
        let when = format!("T+{} - {}", figures::clock(claim.at), figures::clock(claim.last));
        let (status, warm, most) = (clean(&claim.status), pair(claim.warm_throughput), pair(claim.max_units));
        lines.push(vec![piece(Role::Quiet, format!("{when:<17} ")), piece(Role::Text, format!("{status:<9}{warm:>16} {most:>16}"))]);
    }
    let sustained = recording.assessment.sustained.map_or_else(dash, |found| format!("{}/s sustained", figures::rate(found.per_s)));
    lines.push(fact("measured", Role::Strong, sustained));
    lines.push(Vec::new());
    lines
}

fn partitions(canvas: &Canvas<'_>, recording: &Recording) -> Vec<Vec<Piece>> {
    let Some(ledger) = &recording.target_ledger else { return Vec::new() };
    let most = ledger.per_partition.iter().map(|p| p.accepted + p.throttled).max().unwrap_or(0).max(1);
    let bar = |count: u64| canvas.look.glyphs.bar.repeat((count as f64 / most as f64 * BAR as f64).round() as usize);
    let mut lines = vec![vec![piece(Role::Heading, "partitions "), piece(Role::Quiet, "keys, accepted, throttled")]];
    for (at, partition) in ledger.per_partition.iter().enumerate() {
        lines.push(vec![
            piece(Role::Quiet, format!("{at:>3} {:>5.1} % ", partition.share * 100.0)),
            piece(Role::Accepted, format!("{:>11} ", figures::count(partition.accepted))),
            piece(Role::Throttled, format!("{:>11} ", figures::count(partition.throttled))),
            piece(Role::Accepted, bar(partition.accepted)),
            piece(Role::Throttled, bar(partition.throttled)),
        ]);
    }
    if ledger.saturated {
        lines.push(fact("but", Role::Warning, "the simulated endpoint itself ran short of CPU"));
    }
    lines
}

fn dash() -> String {
    figures::NOTHING.to_owned()
}
