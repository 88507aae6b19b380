//! What speaks against the client itself in a window, most direct cause first: its in-flight cap, a standstill, other work on
//! its cores, its own CPU time, the machine's limits, connections that do not last.

use crate::load::Window;

use super::ramp::peak;
use super::session::Context;
use super::words::{count_in_words, per_s_in_words, percent};

/// A stall longer than this lets intents go stale, nanoseconds.
pub(super) const GAP_NANOS: u64 = 100_000_000;
/// A load thread that uses more of a core than this has little to spare for the next burst.
const BUSY: f64 = 0.85;
/// A load thread that waits for a core for more of the time than this distorts what it measures.
const CROWDED: f64 = 0.10;
/// Connections opened per request from which opening them is a cost of its own.
const CHURN: f64 = 0.10;

/// Sentences on how the client did; `short` tells that it fell short.
pub(super) fn evidence(window: &Window, context: &Context, short: bool) -> Vec<String> {
    let counts = &window.counts;
    let Some(share) = counts.client_shortfall() else { return Vec::new() };
    let p99 = window.client.schedule_error.quantiles().p99.map_or(String::new(), |ms| format!("; schedule error p99 {ms:.2} ms"));
    let crowded = window.client.waited_share().filter(|share| *share >= CROWDED);
    if !short {
        let mut evidence = vec![format!("the client shed or sent late {} of its intents{p99}", percent(share))];
        if let Some(waited) = crowded {
            evidence
                .push(format!("a load thread waited for a core {} of the time: other work slows what is measured here", percent(waited)));
        }
        return evidence;
    }
    let mut said = vec![format!(
        "the client shed {} and sent {} late, {} of {}{p99}",
        count_in_words(counts.shed as f64),
        count_in_words(counts.late as f64),
        percent((counts.shed + counts.late) as f64 / counts.offered as f64),
        count_in_words(counts.offered as f64)
    )];
    said.extend(cap(window, context));
    if window.client.longest_stall_nanos > GAP_NANOS {
        said.push(format!("the client stood still for up to {:.0} ms", window.client.longest_stall_nanos as f64 / 1e6));
    }
    if let Some(waited) = crowded {
        said.push(format!("a load thread waited for a core {} of the time: stop other work on this machine", percent(waited)));
    }
    if let Some(cores) = window.client.busiest_cores().filter(|cores| *cores >= BUSY) {
        said.push(format!("a load thread used {} of a core; use more --shards, a faster machine or a lower rate", percent(cores)));
    }
    if counts.failed_here > 0 {
        let failed = count_in_words(counts.failed_here as f64);
        said.push(format!(
            "{failed} requests failed in this machine's own limits (open files, ports, memory); raise them or lower the rate"
        ));
    }
    let opened = window.client.connections_opened as f64;
    if opened >= CHURN * counts.sent().max(1) as f64 {
        said.push(format!("{} connections were opened for {} requests", count_in_words(opened), count_in_words(counts.sent() as f64)));
    }
    if said.len() == 1 {
        said.push("nothing else is known against it: it was late for short moments".to_owned());
    }
    said
}

/// What the in-flight cap has to do with it. The need is Little's law: what is in flight is rate times time in flight.
fn cap(window: &Window, context: &Context) -> Option<String> {
    let cap = context.in_flight_cap.filter(|cap| window.client.in_flight_max >= *cap)?;
    let rate = peak(window);
    let of = format!("the in-flight cap of {} was reached", count_in_words(f64::from(cap)));
    let answers = if window.counts.throttled > window.counts.accepted { &window.service.throttled } else { &window.service.accepted };
    let Some(ms) = answers.quantiles().p50 else { return Some(format!("{of}, and nothing was answered")) };
    let needed = rate * ms / 1e3;
    let (rate, needs) = (per_s_in_words(rate), count_in_words(needed.ceil()));
    Some(if needed > f64::from(cap) {
        format!("{of}: {rate}/s with a median answer after {ms:.1} ms keeps about {needs} in flight; raise --max-in-flight or offer less")
    } else {
        format!("{of} although {rate}/s with a median answer after {ms:.1} ms needs only about {needs}: answers stood still for a while")
    })
}
