//! The pace on the wire, by a server that notes when each request arrives.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::counting::Counting;
use crate::session::{Session, count, has_caveat, ms, undisturbed};

/// Most arrivals within any span of this length.
fn most_within(arrivals: &[Instant], span: Duration) -> usize {
    let mut most = 0;
    let mut first = 0;
    for (last, at) in arrivals.iter().enumerate() {
        while at.duration_since(arrivals[first]) >= span {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most
}

/// Every second offers what is due in it; what is sent late is counted when it is sent, never before it was due.
fn second_by_second(document: &Value, late_ms: f64) {
    let offered = document["buckets"]["offered"].as_array().expect("a column").iter().map(|n| n.as_f64().expect("a count"));
    let offered: Vec<f64> = offered.skip_while(|n| *n < 0.5).collect();
    let (mut counted, mut due) = (0.0, 0.0);
    for (second, n) in offered.iter().enumerate() {
        counted += n;
        due += [1_000.0, 1_000.0, 3_000.0, 3_000.0, 500.0, 500.0].get(second).unwrap_or(&0.0);
        let behind = 3_000.0 * late_ms / 1e3 + 1.0;
        assert!(counted <= due && counted + behind >= due, "{counted} offered after {second} s, {due} due: {offered:?}");
    }
    assert!((counted - due).abs() < 0.5 && due > 8_999.5, "{offered:?}");
}

/// Every request arrives when it is due, over two steps of the rate: nothing is bunched and nothing is missing, at the
/// steps no more than between them.
#[test]
fn every_request_arrives_at_its_instant_across_steps_of_the_rate() {
    undisturbed(|| {
        let server = Counting::start();
        let plan = "name = \"steps\"\nwindow = \"2s\"\nrates = [1000, 3000, 500]\n";
        // With the late limit raised nothing is shed, however busy the machine.
        let document = Session::planned(&server.url, plan, "--late-limit 30s").end();
        let windows = document["windows"].as_array().expect("windows");
        let mut due = Vec::new();
        let mut late_ms: f64 = 0.0;
        for window in windows {
            let (start, rate) = (ms(window, "/start_s"), ms(window, "/offered_per_s"));
            assert_eq!((count(window, "offered") as f64, count(window, "shed")), (2.0 * rate, 0), "{window}");
            due.extend((0..count(window, "offered")).map(|i| start + i as f64 / rate));
            late_ms = late_ms.max(ms(window, "/client/schedule_error_ms/max"));
        }
        second_by_second(&document, late_ms);

        let arrivals = server.arrivals();
        assert_eq!(arrivals.len(), due.len(), "requests on the wire, and intents");
        let first = arrivals[0];
        let behind = arrivals.iter().zip(&due).map(|(at, when)| at.duration_since(first).as_secs_f64() - (when - due[0]));
        let (earliest, latest) = behind.fold((f64::MAX, f64::MIN), |(low, high), s| (low.min(s), high.max(s)));
        // What the client says of its own lateness, what the server knows of its own, and the loopback.
        let allowed = late_ms / 1e3 + server.longest_lag().as_secs_f64() + 0.005;
        assert!(
            latest - earliest <= allowed,
            "arrivals stray {:.1} ms from the schedule, of {:.1} ms allowed",
            1e3 * (latest - earliest),
            1e3 * allowed
        );
        let peak = most_within(&arrivals, Duration::from_secs(1)) as f64;
        assert!(peak <= 3_000.0 * (1.0 + allowed.max(0.005)) + 1.0, "{peak} requests arrived within a second at 3,000/s");
    });
}

#[test]
fn a_client_that_stood_still_for_five_seconds_sheds_what_came_due_and_does_not_burst() {
    undisturbed(|| {
        const RATE: f64 = 400.0;
        let server = Counting::start();
        let session = Session::start(&server.url, "--rate 400 --window 10s");
        let stood = session.stand_still(Duration::from_secs(5)).as_secs_f64();
        let again = Instant::now();
        let document = session.end();
        let window = &document["windows"][0];
        assert_eq!(count(window, "offered"), 4_000);
        assert!(has_caveat(window, "gap"), "{window}");
        // The last 100 ms before it went on are not too late to send.
        let came_due = RATE * (stood - 0.1);
        let shed = count(window, "shed") as f64;
        assert!(shed >= 0.95 * came_due, "{shed} shed, of {came_due} that came due meanwhile");
        assert_ne!(window["verdict"], "ceiling-not-reached", "{window}");

        let arrivals = server.arrivals();
        assert_eq!(arrivals.len() as u64, count(window, "sent"), "requests on the wire, and requests in the document");
        let after: Vec<Instant> = arrivals.into_iter().filter(|at| *at >= again).collect();
        assert!(!after.is_empty(), "it went on: {window}");
        let peak = most_within(&after, Duration::from_secs(1)) as f64;
        let allowed = 1.05 * RATE * (1.0 + server.longest_lag().as_secs_f64() + 0.010) + 1.0;
        assert!(peak <= allowed, "{peak} requests arrived within a second, of {allowed} allowed");
    });
}
