//! What the service answered when it refused, and how that differs in latency from what it answered otherwise.

use crate::load::{Latency, Quantiles};

use super::super::clean::clean;
use super::super::document::{Document, Histograms, Throttle, Window};
use super::super::figures::{NONE, clock, millis, seconds, whole};
use super::{Answer, Table};

fn count(n: u64) -> String {
    whole(Some(n as f64))
}

/// Every distinct throttle answer.
pub(in super::super) fn throttles(document: &Document) -> Vec<Answer> {
    document.throttles.iter().map(answer).collect()
}

fn answer(throttle: &Throttle) -> Answer {
    let reasons = if throttle.reasons.is_empty() { "no reason given".to_owned() } else { throttle.reasons.join(", ") };
    let resource = throttle.resource.as_ref().map_or(String::new(), |resource| format!(", on {resource}"));
    Answer {
        what: clean(&format!("HTTP {} {} ({reasons}){resource}", throttle.http_status, throttle.code)),
        when: format!("{} times, first at {}", count(throttle.count), seconds(throttle.first_s.get())),
        message: clean(&throttle.message),
        meaning: None,
    }
}

/// What a monitor that alarms on 5xx only would have seen of the throttles; nothing to say where there were none.
pub(in super::super) fn monitor_in_words(document: &Document) -> Option<String> {
    let of = |statuses: std::ops::Range<u16>| -> u64 {
        document.throttles.iter().filter(|t| statuses.contains(&t.http_status)).map(|t| t.count).sum()
    };
    let (all, client, server) = (of(0..u16::MAX), of(400..500), of(500..600));
    let saw = match server {
        0 => "nothing".to_owned(),
        some => format!("{} of them", count(some)),
    };
    (all > 0).then(|| {
        format!(
            "A monitor that alarms on 5xx only would have seen {saw}: {} of {} throttles were HTTP 4xx, {} were 5xx.",
            count(client),
            count(all),
            count(server)
        )
    })
}

/// What became of the requests on the key that was asked for most, of windows whose keys have such a one.
pub(in super::super) fn hottest_keys(document: &Document) -> Table {
    let columns = [">#", "keys", ">accepted", ">throttled", ">share of all throttles of the window"];
    let mut table = Table::new("The key that was asked for most", &columns);
    for window in &document.windows {
        let Some(key) = window.hottest_key else { continue };
        let share = key.throttled as f64 / window.counts.throttled as f64 * 100.0;
        let share = if window.counts.throttled > 0 { format!("{share:.1} %") } else { NONE.to_owned() };
        let keys = window.keys.clone().unwrap_or_else(|| document.workload.keys.clone());
        table.push([(u64::from(window.index) + 1).to_string(), keys, count(key.accepted), count(key.throttled), share]);
    }
    table
}

/// Distinct failures.
pub(in super::super) fn failures(document: &Document) -> Table {
    let mut table = Table::new("Failures", &["kind", ">HTTP status", "code", ">count", ">first at", "message"]);
    for failure in &document.failures {
        table.push([
            failure.kind.to_string(),
            failure.http_status.map_or(NONE.to_owned(), |status| status.to_string()),
            failure.code.clone().unwrap_or_default(),
            count(failure.count),
            failure.first_s.get().map_or(NONE.to_owned(), clock),
            failure.message.clone(),
        ]);
    }
    if document.totals.counts.timed_out > 0 {
        let message = format!("no answer within {}", seconds(document.workload.timeout_s.get()));
        let dash = || NONE.to_owned();
        table.push(["timeout".to_owned(), dash(), dash(), count(document.totals.counts.timed_out), dash(), message]);
    }
    table
}

/// Service and response latency of some requests of some windows, merged from their full distributions.
struct Merged {
    windows: usize,
    service: Quantiles,
    response: Quantiles,
}

fn merged(windows: &[&Window], of: impl Fn(&Histograms) -> [Option<String>; 2]) -> Merged {
    let (mut service, mut response) = (Latency::default(), Latency::default());
    let add = |sum: &mut Latency, text: Option<String>| {
        // A distribution that does not read is no data.
        if let Some(Ok(read)) = text.map(|text| Latency::from_base64(&text, 0)) {
            sum.merge(&read);
        }
    };
    for window in windows {
        let [from_sending, from_due] = of(&window.histograms_v2_base64);
        add(&mut service, from_sending);
        add(&mut response, from_due);
    }
    Merged { windows: windows.len(), service: service.quantiles(), response: response.quantiles() }
}

/// Throttled answers, accepted requests beside them, and accepted requests of windows without throttling.
fn three(document: &Document) -> [(&'static str, Merged); 3] {
    let (throttled, clean): (Vec<&Window>, Vec<&Window>) = document.windows.iter().partition(|w| w.counts.throttled > 0);
    let (refused, accepted) = (
        |full: &Histograms| [full.service_throttled.clone(), full.response_throttled.clone()],
        |full: &Histograms| [full.service_accepted.clone(), full.response_accepted.clone()],
    );
    [
        ("throttled answers", merged(&throttled, refused)),
        ("accepted, in windows that throttled", merged(&throttled, accepted)),
        ("accepted, in windows that did not throttle", merged(&clean, accepted)),
    ]
}

/// Throttled against clean latency.
pub(in super::super) fn contrast(document: &Document) -> Table {
    let columns = ["requests", ">windows", ">count", ">service p50", ">service p99", ">response p50", ">response p99"];
    let mut table = Table::new("Throttled against clean latency, ms", &columns);
    for (name, Merged { windows, service, response }) in three(document) {
        let figures = [service.p50, service.p99, response.p50, response.p99].map(millis);
        table.push([name.to_owned(), windows.to_string(), count(service.count)].into_iter().chain(figures));
    }
    table
}

/// What the contrast says; nothing where one of the sides has no data.
pub(in super::super) fn contrast_in_words(document: &Document) -> Option<String> {
    let [(_, throttled), (_, beside), (_, clean)] = three(document);
    let (refusal, beside, clean) = (throttled.service.p50?, beside.service.p50?, clean.service.p50?);
    let change = (beside / clean - 1.0) * 100.0;
    let conclusion = if change.abs() < 10.0 {
        "a latency alarm would not have told".to_owned()
    } else {
        let direction = if change > 0.0 { "slower" } else { "faster" };
        format!("accepted requests were {:.0} % {direction} at the median while others were throttled", change.abs())
    };
    Some(format!(
        "Median service latency: {} ms of a throttled answer, {} ms of an accepted request in the same windows, {} ms in windows that did not throttle: {conclusion}.",
        millis(Some(refusal)),
        millis(Some(beside)),
        millis(Some(clean))
    ))
}
