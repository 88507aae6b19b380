//! What a page says of answers that are no success: verbatim, how often and when, what they mean, and who would have seen them.

use crate::load::Latency;

use super::super::document::{Document, Histograms, Throttle};
use super::super::figures::{millis, seconds, whole};
use super::Page;

pub(super) fn say(document: &Document, page: &mut Page) {
    if !document.throttles.is_empty() {
        page.gap();
    }
    for throttle in &document.throttles {
        refusal(throttle, page);
    }
    if !document.throttles.is_empty() {
        monitor(document, page);
        latency(document, page);
    }
    for failure in &document.failures {
        let status = failure.http_status.map_or(String::new(), |s| format!(" HTTP {s}"));
        let code = failure.code.as_ref().map_or(String::new(), |c| format!(" {c}"));
        let count = whole(Some(failure.count as f64));
        page.say(0, 2, &format!("failed {count} times ({}){status}{code}: {}", failure.kind, failure.message));
    }
    if document.totals.counts.timed_out > 0 {
        let timeout = seconds(document.workload.timeout_s.get());
        page.say(0, 2, &format!("timed out {} times after {timeout}", whole(Some(document.totals.counts.timed_out as f64))));
    }
}

fn refusal(throttle: &Throttle, page: &mut Page) {
    let Throttle { http_status, code, reasons, resource, message, count, first_s, last_s, cause, meaning } = throttle;
    let reasons = if reasons.is_empty() { "no reason given".to_owned() } else { reasons.join(", ") };
    let resource = resource.as_ref().map_or(String::new(), |r| format!(" on {r}"));
    let last = last_s.get().map_or(String::new(), |s| format!(", last at {}", seconds(Some(s))));
    page.say(
        0,
        2,
        &format!(
            "throttled {} times, first at {}{last}: HTTP {http_status} {code} ({reasons}){resource}",
            whole(Some(*count as f64)),
            seconds(first_s.get())
        ),
    );
    page.say(2, 2, &format!("\"{message}\""));
    if let (Some(cause), Some(meaning)) = (cause, meaning) {
        page.say(2, 4, &format!("means {cause}: {meaning}"));
    }
}

/// What a monitor that alarms on 5xx only has seen of it.
fn monitor(document: &Document, page: &mut Page) {
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.sum::<u64>();
    let all = sum(&mut document.throttles.iter().map(|t| t.count));
    let seen = sum(&mut document.throttles.iter().filter(|t| t.http_status >= 500).map(|t| t.count));
    let failed = sum(&mut document.failures.iter().filter(|f| f.http_status.is_some_and(|s| s >= 500)).map(|f| f.count));
    let count = |n: u64| whole(Some(n as f64));
    let seen = if seen == 0 { "none".to_owned() } else { count(seen) };
    let other = if failed == 0 { "nothing else to alarm on".to_owned() } else { format!("{} failures besides", count(failed)) };
    page.say(2, 2, &format!("A monitor that alarms on 5xx only has seen {seen} of these {} refusals, and {other}.", count(all)));
}

/// Latency under throttling against that without, each from whole distributions.
fn latency(document: &Document, page: &mut Page) {
    let merged = |throttled: bool, of: fn(&Histograms) -> Option<&String>| {
        let mut all = Latency::default();
        for window in document.windows.iter().filter(|w| (w.counts.throttled > 0) == throttled) {
            if let Some(more) = of(&window.histograms_v2_base64).and_then(|text| Latency::from_base64(text, 0).ok()) {
                all.merge(&more);
            }
        }
        let figures = all.quantiles();
        format!("{}/{}", millis(figures.p50), millis(figures.p99))
    };
    page.say(
        2,
        4,
        &format!(
            "service latency p50/p99 ms: accepted {} in windows without a throttle, {} in the others, where a refusal took {}",
            merged(false, |h| h.service_accepted.as_ref()),
            merged(true, |h| h.service_accepted.as_ref()),
            merged(true, |h| h.service_throttled.as_ref())
        ),
    );
}
