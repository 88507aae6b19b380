//! Latency from the sending and from the intended instant, when the client or the server stands still; by outcome.

use std::time::Duration;

use crate::session::{EVERYTHING, Session, count, distribution, ms, undisturbed};
use crate::terminal_support::target::Target;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_client_that_stood_still_for_a_second_is_seen_in_the_response_and_not_in_the_service() {
    undisturbed(|| {
        let target = Target::start(EVERYTHING);
        // The late limit is raised, so that what came due meanwhile is sent all the same.
        let session = Session::start(&target.url, "--rate 1000 --window 10s --late-limit 8s");
        let stood = session.stand_still(SECOND).as_secs_f64() * 1e3;
        let document = session.end();
        let window = &document["windows"][0];
        assert_eq!((count(window, "offered"), count(window, "accepted"), count(window, "shed")), (10_000, 10_000, 0), "{window}");
        let (response, service) = (ms(window, "/latency_ms/accepted/response/p99"), ms(window, "/latency_ms/accepted/service/p99"));
        // Those that came due in the first tenth of the stall are one in a hundred.
        assert!((0.85 * stood..1.2 * stood + 300.0).contains(&response), "response p99 {response} ms after {stood} ms");
        assert!(service < stood / 4.0, "service p99 {service} ms after {stood} ms");
        assert!(ms(window, "/client/schedule_error_ms/p99") > 0.85 * stood, "{}", window["client"]);
        assert_eq!(window["verdict"], "client-bound", "{window}");
    });
}

#[test]
fn a_server_that_stood_still_for_a_second_is_seen_in_both_latencies() {
    undisturbed(|| {
        // Times count from ACTIVE, a second or two before the window.
        let target = Target::start(&format!("{EVERYTHING}[[faults]]\nfrom_s = 5\nto_s = 6\nkind = \"stall\"\n"));
        let stood = SECOND.as_secs_f64() * 1e3;
        let document = Session::start(&target.url, "--rate 1000 --window 10s --late-limit 8s").end();
        let window = &document["windows"][0];
        assert_eq!((count(window, "offered"), count(window, "accepted")), (10_000, 10_000), "{}", document["failures"]);
        let late = ms(window, "/client/schedule_error_ms/max");
        for latency in ["service", "response"] {
            let p99 = ms(window, &format!("/latency_ms/accepted/{latency}/p99"));
            // A tenth of the window came due meanwhile, evenly; the slowest tenth of those is one in a hundred.
            assert!((stood - 250.0..1.2 * stood + 300.0 + late).contains(&p99), "{latency} p99 {p99} ms after {stood} ms");
        }
        assert!(count(window, "in_flight") == 0 && ms(window, "/client/in_flight_max") > 0.8 * stood, "{}", window["client"]);
    });
}

#[test]
fn quick_refusals_do_not_flatter_the_latency_of_what_was_accepted() {
    undisturbed(|| {
        let target = Target::start(
            "[partitions]\ncount = 1\nwrite_per_s = 100\nsplits_after_s = []\n[table]\nactivation_s = 0\ndeletion_s = 0\n\
             [latency_ms]\nwrite = { p50 = 150, p99 = 160 }\nrefusal = { p50 = 0, p99 = 0 }\n",
        );
        let document = Session::start(&target.url, "--rate 500 --window 4s").end();
        let window = &document["windows"][0];
        let p50 = |outcome: &str| ms(window, &format!("/latency_ms/{outcome}/service/p50"));
        let (accepted, throttled, all) = (p50("accepted"), p50("throttled"), p50("all"));
        assert!(accepted > 140.0 && throttled < accepted && all < accepted, "p50: {accepted} accepted, {throttled} throttled, {all} all");
        for (outcome, counted) in [("accepted", "accepted"), ("throttled", "throttled"), ("all", "sent")] {
            let values = ms(window, &format!("/latency_ms/{outcome}/service/count"));
            assert!((values - count(window, counted) as f64).abs() < 0.5, "{values} latencies of {outcome}: {window}");
        }
        // The share of refusals is what makes the difference.
        assert!(count(window, "throttled") > count(window, "accepted"), "{window}");
    });
}

#[test]
fn a_request_that_times_out_counts_at_its_full_time() {
    let target = Target::start(&format!("{EVERYTHING}[[faults]]\nfrom_s = 0\nto_s = 1000\nkind = \"drop\"\nshare = 0.2\n"));
    let document = Session::start(&target.url, "--rate 200 --window 4s --timeout 500ms").end();
    let window = &document["windows"][0];
    let timed_out = count(window, "timed_out");
    assert!(timed_out > 80, "{window}");
    assert_eq!(timed_out + count(window, "accepted") + count(window, "shed"), 800, "{}", document["failures"]);
    for name in ["service_other", "response_other"] {
        let latencies = distribution(window, name);
        assert_eq!(latencies.len(), timed_out, "{name}");
        // The timeout counts from the handing over, a moment before the sending. Two digits are what a distribution keeps.
        let shortest = if name == "response_other" { latencies.min() } else { latencies.value_at_quantile(0.5) };
        assert!(shortest >= 495_000, "{name}: {shortest} us");
    }
    assert!(ms(window, "/latency_ms/all/service/p99") >= 495.0, "{}", window["latency_ms"]);
}
