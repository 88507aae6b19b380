//! An examination in words, at most [`WIDTH`] columns wide, and as JSON with the units in the names.

use std::time::Duration;

use serde_json::{Value, json};

use super::calibration::{Burst, Calibration, USABLE};
use super::need;
use super::verdict::{Examination, SAME};
use crate::load::thousands;

/// No line is longer.
const WIDTH: usize = 80;
/// Where the facts start.
const INDENT: usize = 15;

/// The examination in words.
pub fn text(found: &Examination) -> String {
    let mut page = String::new();
    if found.target.simulated {
        wrap(&mut page, "", 0, "SIMULATED: the target is the simulated endpoint on this machine, not AWS.");
    }
    let asked = &found.asked;
    wrap(
        &mut page,
        "",
        2,
        &format!(
            "throttlescope {} doctor: plan {}, at most {} {}/s of {} bytes",
            env!("CARGO_PKG_VERSION"),
            asked.plan,
            asked.peak,
            asked.op.plural(),
            thousands(asked.item_bytes.into())
        ),
    );
    wrap(&mut page, "", 2, &format!("at {} {}", found.target.endpoint, found.target.region));
    page.push('\n');
    for (name, value) in facts(found) {
        wrap(&mut page, &format!("  {name}"), INDENT, &value);
    }
    page.push('\n');
    let verdict = found.verdict();
    let asked = found.asked.peak;
    let sentence = match verdict.holds_per_s {
        Some(holds) => {
            let enough = holds >= asked.per_s() * SAME;
            let word = if verdict.can {
                "OK"
            } else if enough {
                "NOT READY"
            } else {
                "NOT ENOUGH"
            };
            format!("{word}: this machine can hold {}/s from here; the plan asks {asked}/s.", whole(holds))
        }
        None => format!("NOT KNOWN: what this machine can hold from here could not be measured; the plan asks {asked}/s."),
    };
    wrap(&mut page, "", 2, &sentence);
    for change in &verdict.changes {
        wrap(&mut page, "  -", 4, &format!("{change}."));
    }
    page
}

fn facts(found: &Examination) -> Vec<(&'static str, String)> {
    let mut facts = vec![("cores", cores(found)), ("open files", open_files(found)), ("round trip", round_trip(found))];
    facts.push(("clock", clock(found)));
    facts.push(("connections", connections(found)));
    match &found.calibration {
        Ok(calibration) => {
            facts.push(("client cost", cost(found, calibration)));
            facts.push(("clean rate", clean_rate(found, calibration)));
        }
        Err(why) => facts.push(("client cost", format!("not known: {why}"))),
    }
    facts
}

fn cores(found: &Examination) -> String {
    let host = &found.host;
    let quota = host.quota_cores.map_or_else(|| "no CPU quota".to_owned(), |quota| format!("a CPU quota of {quota:.2} cores"));
    let load = host.load_average.map_or_else(String::new, |load| format!(", load average {load:.2} over the last minute"));
    let stolen = found.calibration.as_ref().ok().and_then(|calibration| calibration.stolen).filter(|stolen| *stolen >= 0.001);
    let stolen = stolen.map_or_else(String::new, |stolen| format!(", {:.1} % of the time taken by the hypervisor", stolen * 100.0));
    format!("{}, {quota}{load}{stolen}", counted(u64::from(host.cores), "core"))
}

fn open_files(found: &Examination) -> String {
    let limit = |files: Option<u64>| files.map_or_else(|| "unlimited".to_owned(), thousands);
    let files = found.host.open_files;
    let allow = found.need.open_files_allow.map_or_else(|| "any number of".to_owned(), |allow| thousands(allow.into()));
    let each = if found.target.simulated { ", two files each since the endpoint is here too" } else { "" };
    format!("{} (hard limit {}): {allow} connections{each}", limit(files.soft), limit(files.hard))
}

fn round_trip(found: &Examination) -> String {
    let distance = &found.distance;
    let (Some(median), Some(least)) = (distance.round_trip, distance.round_trip_min) else {
        return format!("not known: {}", distance.trouble.as_deref().unwrap_or("no request was answered"));
    };
    let connected = distance.connected.map_or_else(String::new, |connected| {
        let tls = connected.tls.map_or_else(String::new, |tls| format!(" + {} ms TLS", millis(ms(tls))));
        let times = counted(distance.connections.into(), "connect");
        format!("; connecting takes {} ms TCP{tls} (the quickest of {times})", millis(ms(connected.tcp)))
    });
    let trips = counted(distance.round_trips.into(), "DescribeTable request");
    format!("{} ms median, {} ms least, of {trips}{connected}", millis(ms(median)), millis(ms(least)))
}

fn clock(found: &Examination) -> String {
    if let Some(trouble) = found.distance.clock_trouble() {
        return format!("offset not known: {trouble}");
    }
    let Some((middle, either_way)) = found.distance.clock.offset().middle_ms() else { return "offset not known".to_owned() };
    let side = if middle < 0.0 { "behind" } else { "ahead of" };
    let replies = counted(found.distance.clock.dated.into(), "reply").replace("replys", "replies");
    format!("the service's is {:.1} ms {side} this machine's, +/- {either_way:.1} ms, from the Date of {replies}", middle.abs())
}

fn connections(found: &Examination) -> String {
    let need = &found.need;
    let Some(trip) = found.distance.round_trip else {
        return format!("what the plan needs is not known without a round trip; at most {} are allowed", thousands(need.allowed().into()));
    };
    let reckoned = need::reckoned(trip);
    let least = if reckoned > trip { ", the least that is reckoned with" } else { "" };
    format!(
        "the plan needs {} ({}/s x {} ms{least}, x {}); at most {} are allowed",
        thousands(need.connections.into()),
        found.asked.peak,
        millis(ms(reckoned)),
        need::HEADROOM,
        thousands(need.allowed().into())
    )
}

fn cost(found: &Examination, calibration: &Calibration) -> String {
    let (client, endpoint) = calibration.costs();
    let Some(client) = client else { return "not known: no request was sent".to_owned() };
    let burst = calibration.best().or(calibration.bursts.first());
    let sent = burst.map_or(0, |burst| burst.counts.sent());
    let served = match (found.target.simulated, endpoint) {
        (true, Some(endpoint)) => format!("; the simulated endpoint takes {} us more", whole(endpoint / 1e3)),
        _ => String::new(),
    };
    format!(
        "{} us of CPU per request: CPU time of {} over {} signed writes of {} bytes to a process that accepts at once{served}",
        whole(client / 1e3),
        counted(calibration.shards.into(), "load thread"),
        thousands(sent),
        thousands(found.asked.item_bytes.into()),
    )
}

fn clean_rate(found: &Examination, calibration: &Calibration) -> String {
    let tried = || calibration.bursts.iter().map(|burst| format!("{}/s", whole(burst.offered_per_s))).collect::<Vec<_>>().join(", ");
    let Some((best, holds)) = calibration.best().zip(calibration.holds_per_s) else {
        let all: Vec<String> = calibration.bursts.iter().map(fault).collect();
        return format!("none of {}: {}", tried(), all.join("; "));
    };
    let shared = if found.target.simulated { ", nor the endpoint's," } else { "" };
    format!(
        "{}/s: {}/s was paced for half a second with {}; no load thread{shared} is to take more than {:.0} % of a core; tried {}",
        whole(holds),
        whole(best.offered_per_s),
        fault(best),
        USABLE * 100.0,
        tried()
    )
}

fn fault(burst: &Burst) -> String {
    let counts = &burst.counts;
    let failed = counts.failed + counts.timed_out;
    let failed = if failed > 0 { format!(", {} failed", thousands(failed)) } else { String::new() };
    let error = burst.schedule_error_p99_ms.map_or_else(|| "-".to_owned(), millis);
    format!("{} shed, {} late{failed}, schedule error p99 {error} ms", thousands(counts.shed), thousands(counts.late))
}

/// The examination as JSON.
pub fn json(found: &Examination) -> Value {
    let (host, distance, need, verdict) = (&found.host, &found.distance, &found.need, found.verdict());
    let clock = distance.clock.offset().middle_ms();
    let answer = distance.answer.as_ref();
    let calibration = found.calibration.as_ref().ok();
    let (client, endpoint) = calibration.map_or((None, None), Calibration::costs);
    json!({
        "schema": "throttlescope.doctor/1",
        "simulated": found.target.simulated,
        "target": { "kind": found.target.kind, "endpoint": found.target.endpoint, "region": found.target.region },
        "plan": {
            "name": found.asked.plan,
            "peak_per_s": found.asked.peak.per_s(),
            "op": found.asked.op.to_string(),
            "item_bytes": found.asked.item_bytes,
            "shards": found.asked.shards,
        },
        "host": {
            "cores": host.cores,
            "cpu_quota_cores": host.quota_cores,
            "load_average_1min": host.load_average,
            "stolen_share": calibration.and_then(|calibration| calibration.stolen),
            "open_files": host.open_files.soft,
            "open_files_hard": host.open_files.hard,
        },
        "distance": {
            "round_trips": distance.round_trips,
            "round_trip_ms": distance.round_trip.map(ms),
            "round_trip_min_ms": distance.round_trip_min.map(ms),
            "connect_ms": distance.connected.map(|connected| ms(connected.total())),
            "tls_ms": distance.connected.and_then(|connected| connected.tls).map(ms),
            "answer_http_status": answer.map(|(status, _)| status),
            "answer_code": answer.and_then(|(_, code)| code.clone()),
            "trouble": distance.trouble,
        },
        "clock": {
            "offset_ms": clock.map(|(middle, _)| middle),
            "uncertainty_ms": clock.map(|(_, either_way)| either_way),
            "replies": distance.clock.dated,
            "trouble": distance.clock_trouble(),
        },
        "connections": {
            "needed": distance.round_trip.map(|_| need.connections),
            "allowed": need.allowed(),
            "max_in_flight": need.max_in_flight,
            "open_files_allow": need.open_files_allow,
        },
        "client": {
            "cpu_us_per_request": client.map(|nanos| nanos / 1e3),
            "endpoint_cpu_us_per_request": endpoint.map(|nanos| nanos / 1e3),
            "holds_per_s": calibration.and_then(|calibration| calibration.holds_per_s),
            "bursts": calibration.map(|calibration| calibration.bursts.iter().map(burst).collect::<Vec<_>>()),
            "trouble": found.calibration.as_ref().err(),
        },
        "verdict": {
            "can": verdict.can,
            "holds_per_s": verdict.holds_per_s,
            "asked_per_s": found.asked.peak.per_s(),
            "changes": verdict.changes,
        },
    })
}

fn burst(burst: &Burst) -> Value {
    json!({
        "offered_per_s": burst.offered_per_s,
        "offered": burst.counts.offered,
        "accepted": burst.counts.accepted,
        "shed": burst.counts.shed,
        "late": burst.counts.late,
        "failed": burst.counts.failed + burst.counts.timed_out,
        "cpu_us_per_request": burst.client_nanos.map(|nanos| nanos / 1e3),
        "schedule_error_p99_ms": burst.schedule_error_p99_ms,
        "clean": burst.is_clean(),
    })
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

fn millis(ms: f64) -> String {
    if ms < 1.0 { format!("{ms:.2}") } else { format!("{ms:.1}") }
}

fn whole(number: f64) -> String {
    thousands(number.max(0.0).round() as u64)
}

fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// Appends a paragraph after a name, its lines indented by `indent`. What an endpoint said may hold anything: only printable
/// ASCII is let through.
fn wrap(page: &mut String, name: &str, indent: usize, paragraph: &str) {
    let plain: String = paragraph
        .chars()
        .map(|c| {
            if c.is_ascii_graphic() {
                c
            } else if c.is_whitespace() {
                ' '
            } else {
                '?'
            }
        })
        .collect();
    let words: Vec<&str> = plain.split(' ').filter(|word| !word.is_empty()).collect();
    let first = if name.is_empty() { String::new() } else { format!("{name:<indent$}") };
    let next = " ".repeat(indent);
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(&first)
        .subsequent_indent(&next)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    for line in textwrap::wrap(&words.join(" "), options) {
        page.push_str(line.trim_end());
        page.push('\n');
    }
}
