//! The status line of a session without a screen: one line, once a second.

use crate::load::Counts;

use super::clean::clean_ascii;
use super::facts::Phase;
use super::figures::{clock, millis, seconds, usd, whole};
use super::recording::Recording;

/// How a session stands, in one line of plain ASCII.
pub fn line(recording: &Recording) -> String {
    let now = recording.load.at;
    let mut line = format!("T+{} ", clock(now.secs()));
    if recording.target.simulated {
        line.push_str("SIMULATED ");
    }
    let since = now.since(recording.phase_since).as_secs_f64();
    let table = clean_ascii(&recording.target.table);
    line.push_str(&match recording.phase {
        Phase::Starting => "starting".to_owned(),
        Phase::Creating => format!("creating table {table}, not ACTIVE after {since:.0} s"),
        Phase::Seeding => match recording.target.seeded {
            Some((written, items)) => {
                format!("seeding {table}: {} of {} items", whole(Some(written as f64)), whole(Some(items as f64)))
            }
            None => format!("seeding items into {table} for {since:.0} s"),
        },
        Phase::Warming => "opening connections".to_owned(),
        Phase::Running => format!("running{}", load(recording)),
        Phase::Paused => format!("paused{}", idle(recording)),
        Phase::PlanEnded => format!("plan ended{}", idle(recording)),
        Phase::Draining => format!("draining, {} in flight", recording.load.live.in_flight),
        Phase::Deleting => format!("deleting table {table} for {since:.0} s"),
        Phase::Finished | Phase::Failed => over(recording),
    });
    line
}

fn load(recording: &Recording) -> String {
    let load = &recording.load;
    let rate = load.rate().map_or(String::new(), |rate| format!(" {rate}/s"));
    let Some(second) = load.live.last_second.or_else(|| load.rows.last().map(|row| row.counts)) else {
        return format!("{rate}: nothing measured yet{}{}", money(recording), progress(recording));
    };
    let live = &load.live;
    let newest = load.rows.last();
    let p50 = live.service.p50.or_else(|| newest.and_then(|row| row.service.p50));
    let p99 = live.service.p99.or_else(|| newest.and_then(|row| row.service.p99));
    format!(
        "{rate}: accepted {}/s throttled {}/s{} p50 {} p99 {} ms in flight {}{}{}",
        whole(Some(second.accepted as f64)),
        whole(Some(second.throttled as f64)),
        trouble(&second),
        millis(p50),
        millis(p99),
        live.in_flight,
        money(recording),
        progress(recording)
    )
}

/// What should not happen is named only when it does.
fn trouble(second: &Counts) -> String {
    [("failed", second.failed), ("timed out", second.timed_out), ("shed", second.shed)]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .fold(String::new(), |said, (what, count)| format!("{said} {what} {}/s", whole(Some(count as f64))))
}

fn money(recording: &Recording) -> String {
    usd(recording.cost.usd).map_or(String::new(), |usd| format!(" {usd}"))
}

fn progress(recording: &Recording) -> String {
    let Some(plan) = recording.plan.as_ref().filter(|p| (p.next as usize) < p.windows.len()) else { return String::new() };
    let planned_end = recording.load.current().and_then(|w| w.spec.planned_end);
    let left = planned_end.map_or(String::new(), |end| format!(" {:.0} s left", end.since(recording.load.at).as_secs_f64()));
    // How many a search will add, nobody knows.
    let open = if plan.searches { "+" } else { "" };
    format!("  window {}/{}{open}{left}", plan.next + 1, plan.windows.len())
}

fn idle(recording: &Recording) -> String {
    let in_flight = recording.load.live.in_flight;
    let waiting = if in_flight > 0 { format!(", {in_flight} in flight") } else { String::new() };
    format!("{waiting}{}{}", money(recording), progress(recording))
}

fn over(recording: &Recording) -> String {
    let verdict = &recording.assessment.verdict.kind;
    let ceiling = recording.assessment.sustained.map_or(String::new(), |e| format!(" {}/s", whole(Some(e.per_s))));
    let reason = recording.stop_reason.as_ref().map_or(String::new(), |r| format!(" ({})", clean_ascii(&r.in_words())));
    let target = &recording.target;
    let deleted = match (target.created_by_session, target.deleted, target.delete_confirmed_s) {
        (false, ..) => String::new(),
        (true, true, Some(s)) => format!(", table deleted in {}", seconds(Some(s))),
        (true, true, None) => ", table deletion not confirmed".to_owned(),
        (true, false, _) => format!(", TABLE {} IS LEFT BEHIND", clean_ascii(&target.table)),
    };
    format!("{}{reason}: {verdict}{ceiling}{deleted}", recording.phase)
}
