//! Sessions without a screen against third-party servers: from CreateTable to the confirmed deletion.

use crate::support::{Ended, Peer, measure};

fn seconds(ended: &Ended, name: &str) -> f64 {
    ended.document["target"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {}", ended.document["target"]))
}

fn leaves_nothing(peer: &Peer, ended: &Ended) {
    ended.is_complete();
    assert!(ended.total("accepted") > 0, "{}", ended.said);
    assert_eq!((ended.total("throttled"), ended.total("in_flight")), (0, 0), "{}", ended.said);
    assert_eq!(peer.tables(), Vec::<String>::new());
}

/// Consumed capacity is what the server stated, to the last unit.
fn consumed(ended: &Ended, units_per_item: f64) {
    let stated = ended.document["totals"]["consumed_units"].as_f64().expect("a number");
    let expected = ended.total("accepted") as f64 * units_per_item;
    assert!((stated - expected).abs() < 1e-6, "{stated} units stated, {expected} expected");
}

/// The server is quick enough that nothing may fail.
fn without_failures(ended: &Ended) {
    assert_eq!(ended.total("failed"), 0, "{}", ended.document["failures"]);
}

#[test]
fn a_table_that_takes_time_to_come_and_to_go_is_waited_for_at_both_ends() {
    let Some(peer) = Peer::dynalite() else { return };
    let plan = "name = \"two\"\nwindow = \"3s\"\npause = \"1s\"\nrates = [50, 100]\n";
    let ended = measure(&peer.url, Some(plan), "");
    leaves_nothing(&peer, &ended);
    assert!(seconds(&ended, "time_to_active_s") >= 0.4, "{}", ended.document["target"]);
    assert!(seconds(&ended, "delete_confirmed_s") >= 0.4, "{}", ended.document["target"]);
    assert_eq!(ended.failed_as("not_found"), 0, "{}", ended.document["failures"]);
    assert_eq!(ended.total("offered"), 450);
}

#[test]
fn a_plan_shaped_like_the_ceiling_plan_runs_through_on_a_slow_server() {
    let Some(peer) = Peer::dynalite() else { return };
    let plan = "name = \"low-ceiling\"\nwindow = \"2s\"\npause = \"1s\"\nrates = [20, 40, 60, 80, 100, 120, 160]\n";
    let ended = measure(&peer.url, Some(plan), "--timeout 30s");
    leaves_nothing(&peer, &ended);
    let windows = ended.document["windows"].as_array().expect("windows");
    let offered: Vec<_> = windows.iter().map(|window| window["offered"].as_u64().unwrap_or(0)).collect();
    assert_eq!(offered, [40, 80, 120, 160, 200, 240, 320]);
    assert_eq!(ended.document["plan"]["windows_done"], 7);
    assert!(windows.iter().all(|window| window["sustained_per_s"].is_null()), "nothing was throttled, so no ceiling is known");
    consumed(&ended, 1.0);
}

#[test]
fn connections_that_the_server_closed_during_a_pause_cost_no_request() {
    let Some(peer) = Peer::dynalite() else { return };
    // dynalite closes connections that have been idle for 5 to 6 seconds.
    let plan = "name = \"pause\"\nwindow = \"2s\"\npause = \"7s\"\nrates = [100, 100]\n";
    let ended = measure(&peer.url, Some(plan), "");
    leaves_nothing(&peer, &ended);
    without_failures(&ended);
}

#[test]
fn writes_consume_what_the_server_says_they_do() {
    let Some(peer) = Peer::dynoxide() else { return };
    let plan = "name = \"writes\"\nwindow = \"2s\"\npause = \"1s\"\nrates = [200, 400]\n";
    let ended = measure(&peer.url, Some(plan), "");
    leaves_nothing(&peer, &ended);
    without_failures(&ended);
    consumed(&ended, 1.0);
    assert_eq!(ended.total("offered"), 1_200);
}

#[test]
fn an_item_of_2500_bytes_costs_three_units() {
    let Some(peer) = Peer::dynoxide() else { return };
    let ended = measure(&peer.url, None, "--rate 100 --window 2s --item-bytes 2500");
    leaves_nothing(&peer, &ended);
    without_failures(&ended);
    consumed(&ended, 3.0);
}

#[test]
fn eventually_consistent_reads_of_seeded_items_cost_half_a_unit() {
    let Some(peer) = Peer::dynoxide() else { return };
    let ended = measure(&peer.url, None, "--op read --rate 200 --window 4s --items 110");
    leaves_nothing(&peer, &ended);
    without_failures(&ended);
    consumed(&ended, 0.5);
    let events = ended.document["events"].as_array().expect("events");
    assert!(events.iter().any(|event| event["detail"].as_str().is_some_and(|said| said.contains("110 items seeded"))), "{events:?}");
}

#[test]
fn strongly_consistent_reads_cost_a_whole_unit() {
    let Some(peer) = Peer::dynoxide() else { return };
    let ended = measure(&peer.url, None, "--op read --consistent-read --rate 100 --window 2s --items 30");
    leaves_nothing(&peer, &ended);
    without_failures(&ended);
    consumed(&ended, 1.0);
}
