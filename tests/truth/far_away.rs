//! A table 100 ms away takes as many writes as one next door, with more of them in flight.

use std::time::Duration;

use serde_json::Value;

use crate::delayed::Link;
use crate::session::{EVERYTHING, Session, count, distribution, has_caveat, ms, undisturbed};
use crate::terminal_support::target::Target;

const RATE: f64 = 2_000.0;

/// What holds on a machine however busy.
fn is_true(document: &Value, link: &Link) {
    let window = &document["windows"][0];
    let service = ms(window, "/latency_ms/accepted/service/p50");
    let late = ms(window, "/client/schedule_error_ms/p99");
    let link_ms = link.median_ms();
    assert!(link_ms >= 100.0, "the link itself held for {link_ms} ms");
    assert!((99.5..link_ms + 30.0 + late).contains(&service), "service p50 {service} ms over a link of {link_ms} ms");
    // Little's law, from the levels at the ends of whole seconds and the full distribution.
    let levels: Vec<f64> = column(document, "in_flight").filter(|level| *level > 0.0).collect();
    let levels = &levels[1..levels.len() - 1];
    let mean = levels.iter().sum::<f64>() / levels.len() as f64;
    let sent = count(window, "sent") as f64 / ms(window, "/duration_s");
    let expected = sent * distribution(window, "service_accepted").mean() / 1e6;
    assert!((mean / expected - 1.0).abs() < 0.15, "{mean} in flight on average, {expected} by Little's law: {levels:?}");
    // What is in flight at once was sent within the longest latency, at no more than 1.05 times the setpoint.
    let most = ms(window, "/client/in_flight_max");
    let bound = 1.05 * RATE * (ms(window, "/latency_ms/all/service/max") / 1e3 + 0.010);
    assert!((0.95 * expected..=bound).contains(&most), "at most {most} in flight, between {expected} and {bound}");
}

fn column<'d>(document: &'d Value, name: &str) -> impl Iterator<Item = f64> + 'd {
    document["buckets"][name].as_array().expect("a column").iter().map(|value| value.as_f64().expect("a number"))
}

#[test]
fn two_thousand_writes_a_second_hold_over_a_link_of_100_ms_with_200_in_flight() {
    let target = Target::start(EVERYTHING);
    undisturbed(|| {
        let link = Link::to(target.address(), Duration::from_millis(50));
        let document = Session::start(&link.url, "--rate 2000 --window 6s").end();
        let window = &document["windows"][0];
        assert_eq!(count(window, "offered"), 12_000);
        assert_eq!((count(window, "failed"), count(window, "timed_out")), (0, 0), "{}", document["failures"]);
        is_true(&document, &link);
        // A machine too busy for this pace; the session must say so.
        if count(window, "shed") > 0 {
            assert!(has_caveat(window, "client-saturated") || has_caveat(window, "gap"), "shed without a word: {window}");
            return;
        }
        assert_eq!(count(window, "accepted"), 12_000);
        assert!(window["verdict"] == "ceiling-not-reached" || has_caveat(window, "client-saturated"), "{window}");
    });
}
