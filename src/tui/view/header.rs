//! The header: the answer in text, and how the session stands.

use ratatui::layout::Rect;

use super::View;
use super::text::{Canvas, Piece, clean, fit, labelled, piece};
use crate::analysis::{Caveat, VerdictKind};
use crate::load::Counts;
use crate::report::replay::Playback;
use crate::report::{Phase, Recording};
use crate::tui::app::{App, plan_runs};
use crate::tui::figures;
use crate::tui::steering::Wish;
use crate::tui::theme::Role;

/// Rows it takes.
pub(super) const ROWS: u16 = 4;

/// Draws the header.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, app: &App) {
    let row = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    canvas.line(row, 0, &fit(standing(app), row.width));
    canvas.line(row, 1, &fit(rates(app), row.width));
    canvas.line(row, 2, &fit(answer(app), row.width));
    tabs(canvas, row, app);
}

/// How the session stands, by importance.
pub(super) fn standing(app: &App) -> Vec<(u8, Vec<Piece>)> {
    let newest = &app.newest;
    let mut groups = vec![(6, vec![piece(Role::Heading, "throttlescope")])];
    if !newest.session.id.is_empty() {
        groups.push((5, vec![piece(Role::Quiet, clean(&newest.session.id))]));
    }
    groups.extend(stamps(app).into_iter().map(|stamp| (0, vec![stamp])));
    groups.push((0, vec![phase(app)]));
    let clock = figures::clock(app.shown_now());
    match app.playback() {
        None => groups.push((1, vec![piece(Role::Strong, format!("T+{clock}"))])),
        Some(playback) => {
            groups.push((1, vec![piece(Role::Strong, format!("T+{clock} of {}", figures::clock(playback.ends)))]));
            groups.push((1, speed(app, playback)));
        }
    }
    let in_flight = in_flight(&app.shown).map_or_else(|| figures::NOTHING.to_owned(), |level| figures::count(level.into()));
    let cap = newest.workload.max_in_flight;
    let cap = if cap > 0 { format!("/{}", figures::count(cap.into())) } else { String::new() };
    groups.push((2, labelled("in flight", Role::Text, format!("{in_flight:>3}{cap}"))));
    if let Some(client) = newest.session.unusual_client() {
        groups.push((4, labelled("client", Role::Text, clean(client))));
    }
    if let Some(usd) = newest.cost.usd {
        groups.push((3, vec![piece(Role::Text, figures::usd(Some(usd)))]));
        if let Some(most) = newest.session.max_cost_usd {
            groups.push((7, vec![piece(Role::Quiet, format!("of at most {}", figures::usd(Some(most))))]));
        }
    }
    groups
}

/// How fast a replay goes, and whether it stands still.
fn speed(app: &App, playback: Playback) -> Vec<Piece> {
    let state = match (playback.paused, app.newest.load.at == playback.ends) {
        (true, true) => piece(Role::Accent, "at its end"),
        (true, false) => piece(Role::Warning, "paused"),
        (false, _) => piece(Role::Quiet, "playing"),
    };
    vec![piece(Role::Strong, format!("{}x ", playback.speed)), state]
}

/// What must be said of everything on the screen.
pub(super) fn stamps(app: &App) -> Vec<Piece> {
    let mut stamps = Vec::new();
    if app.playback().is_some() {
        stamps.push(piece(Role::Stamp, " REPLAY "));
    }
    if app.newest.target.simulated {
        stamps.push(piece(Role::Stamp, " SIMULATED "));
    }
    if app.frozen.is_some() {
        stamps.push(piece(Role::Stamp, " FROZEN "));
    }
    stamps
}

/// The phase in words, with what it waits for.
pub(super) fn phase(app: &App) -> Piece {
    let since = app.now().since(app.newest.phase_since).as_secs_f64();
    let (role, word) = match app.newest.phase {
        _ if app.stopping.is_sent() && app.newest.phase.has_load() && app.newest.phase != Phase::Draining => (Role::Warning, "STOPPING"),
        Phase::Starting => (Role::Accent, "STARTING"),
        Phase::Creating => return piece(Role::Accent, format!("CREATING {since:.1} s")),
        Phase::Seeding => {
            let progress = app.newest.target.seeded.filter(|(_, all)| *all > 0);
            let progress = progress.map_or_else(|| format!("{since:.1} s"), |(done, all)| figures::percent(done, all));
            return piece(Role::Accent, format!("SEEDING {progress}"));
        }
        Phase::Warming => (Role::Accent, "WARMING UP"),
        Phase::Running => (Role::Accent, "RUNNING"),
        Phase::Paused if plan_runs(&app.newest) => (Role::Accent, "PAUSE"),
        Phase::Paused => (Role::Warning, "PAUSED"),
        Phase::PlanEnded => (Role::Accent, "PLAN ENDED"),
        Phase::Draining => return piece(Role::Warning, format!("DRAINING {since:.1} s")),
        Phase::Deleting => return piece(Role::Warning, format!("DELETING {since:.1} s")),
        Phase::Finished => (Role::Strong, "FINISHED"),
        Phase::Failed => (Role::Failed, "FAILED"),
    };
    piece(role, word)
}

/// Requests in flight, `None` before anything is known of them.
pub(super) fn in_flight(recording: &Recording) -> Option<u32> {
    match recording.load.live.last_second {
        Some(_) => Some(recording.load.live.in_flight),
        None => recording.load.rows.last().map(|row| row.in_flight),
    }
}

/// Counts per second as of now; `None` while no load runs.
pub(super) fn now_counts(recording: &Recording) -> Option<Counts> {
    if !recording.phase.has_load() {
        return None;
    }
    recording.load.live.last_second.or_else(|| recording.load.rows.last().filter(|row| row.span_s == 1).map(|row| row.counts))
}

/// The setpoint; while it is not applied yet, from what to what.
pub(super) fn setpoint(app: &App) -> (Role, String) {
    let applied = app.shown.load.applied.map(Wish::of);
    let wanted = if app.frozen.is_some() { app.shown.load.requested.map(Wish::of) } else { app.steering.wanted() };
    // Once the load is being stopped for good, nobody waits for a rate any more.
    let stopping = matches!(app.shown.phase, Phase::Draining | Phase::Deleting) || app.shown.phase.is_over();
    let wanted = wanted.filter(|_| !stopping);
    match (applied, wanted) {
        (None, None) => (Role::Quiet, format!("{:>8}", figures::NOTHING)),
        (Some(applied), wanted) if wanted.is_none_or(|wanted| wanted == applied) => {
            (Role::Strong, format!("{:>8}", figures::setpoint(applied.rate())))
        }
        (applied, wanted) => {
            let text = |wish: Option<Wish>| wish.map_or_else(|| figures::NOTHING.to_owned(), |wish| figures::setpoint(wish.rate()));
            (Role::Accent, format!("{} -> {} ...", text(applied), text(wanted)))
        }
    }
}

/// Offered, accepted, throttled as of now.
fn rates(app: &App) -> Vec<(u8, Vec<Piece>)> {
    let now = now_counts(&app.shown);
    let rate = |count: fn(&Counts) -> u64| format!("{:>8}", figures::per_s(now.as_ref().map(|counts| count(counts) as f64)));
    let (role, text) = setpoint(app);
    let throttled = now.map_or(0, |counts| counts.throttled);
    let hot = if throttled > 0 { Role::Throttled } else { Role::Text };
    let share = now.map_or(String::new(), |counts| figures::percent(counts.throttled, counts.completed()));
    let mut groups = vec![
        (0, labelled("rate", role, text)),
        (4, labelled("offered", Role::Offered, rate(|c| c.offered))),
        (0, labelled("accepted", Role::Accepted, rate(|c| c.accepted))),
        (0, labelled("throttled", hot, rate(|c| c.throttled))),
        (2, vec![piece(hot, format!("{share:>6}"))]),
    ];
    if let Some(counts) = now {
        for (label, count, role) in
            [("failed", counts.failed, Role::Failed), ("timed out", counts.timed_out, Role::Failed), ("shed", counts.shed, Role::Warning)]
        {
            if count > 0 {
                groups.push((3, labelled(label, role, figures::per_s(Some(count as f64)))));
            }
        }
    }
    groups
}

/// The verdict in words.
pub(super) fn answer(app: &App) -> Vec<(u8, Vec<Piece>)> {
    let recording = &app.shown;
    let found = &recording.assessment;
    if found.windows.is_empty() {
        let text = match recording.phase {
            Phase::Starting => "starting ...".to_owned(),
            Phase::Creating => format!("creating table {} ...", clean(&recording.target.table)),
            Phase::Seeding => match recording.target.seeded {
                Some((done, all)) => {
                    format!("writing the items that reads will ask for: {} of {} ...", figures::count(done), figures::count(all))
                }
                None => "writing the items that reads will ask for ...".to_owned(),
            },
            Phase::Warming => "opening connections ...".to_owned(),
            _ => "no verdict yet".to_owned(),
        };
        return vec![(0, vec![piece(Role::Quiet, text)])];
    }
    let mut groups = vec![(0, vec![verdict(found.verdict.kind)])];
    if let Some(sustained) = found.sustained {
        groups.push((1, labelled("sustained", Role::Strong, figures::per_s(Some(sustained.per_s)))));
        let (low, high) = sustained.ci95;
        groups.push((4, vec![piece(Role::Quiet, format!("95 % {} to {}", figures::rate(low), figures::rate(high)))]));
    }
    if let Some(burst) = found.burst_units {
        groups.push((2, labelled("+ burst", Role::Strong, format!("{} units", figures::rate(burst)))));
    }
    match (found.clean_at_least_per_s, found.verdict.kind) {
        (Some(clean), VerdictKind::CeilingNotReached) => {
            groups.push((1, labelled("accepted all up to", Role::Strong, figures::per_s(Some(clean)))));
        }
        (Some(clean), _) => groups.push((3, labelled("clean to", Role::Text, figures::per_s(Some(clean))))),
        (None, _) => {}
    }
    let caveats: Vec<&str> = found.verdict.caveats.iter().filter(|c| **c != Caveat::Simulated).map(|c| c.name()).collect();
    if !caveats.is_empty() {
        groups.push((5, labelled("but", Role::Warning, caveats.join(", "))));
    }
    groups
}

/// A verdict as a word with its colour.
pub(super) fn verdict(kind: VerdictKind) -> Piece {
    match kind {
        VerdictKind::ServiceBound => piece(Role::Throttled, "SERVICE-BOUND"),
        VerdictKind::ClientBound => piece(Role::Failed, "CLIENT-BOUND"),
        VerdictKind::CeilingNotReached => piece(Role::Accent, "CEILING NOT REACHED"),
        VerdictKind::Inconclusive => piece(Role::Quiet, "INCONCLUSIVE"),
    }
}

fn tabs(canvas: &mut Canvas<'_>, row: Rect, app: &App) {
    let mut pieces = Vec::new();
    for (at, view) in View::ALL.into_iter().enumerate() {
        let text = format!(" {} {} ", at + 1, view.name());
        pieces.push(piece(if view == app.view { Role::Chosen } else { Role::Quiet }, text));
    }
    canvas.line(Rect { x: row.x.saturating_sub(1), width: row.width + 1, ..row }, 3, &pieces);
    let started = app.newest.session.started_at.get(11..19).map(|time| format!("T+0 = {} UTC", clean(time)));
    if let Some(started) = started.filter(|_| row.width >= 90) {
        canvas.line_right(row, 3, &[piece(Role::Quiet, started)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Rate, Setpoint};
    use crate::tui::fixtures::Script;

    #[test]
    fn a_load_that_is_stopped_for_good_waits_for_no_rate() {
        let mut script = Script::new();
        script.active();
        script.set(Some(2_000), None);
        script.run(5);
        let mut stopped = (*script.recording()).clone();
        // The end of the load is applied and was never asked for as a rate.
        stopped.load.applied = Some(Setpoint { rate: None, at: stopped.load.at });
        for (phase, said) in [(Phase::Running, true), (Phase::Draining, false), (Phase::Deleting, false), (Phase::Finished, false)] {
            let mut app = App::new(Rate::per_second(250));
            app.observe(std::sync::Arc::new(Recording { phase, ..stopped.clone() }));
            assert_eq!(setpoint(&app).1.contains("->"), said, "{phase}");
        }
    }
}
