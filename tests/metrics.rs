//! `run --metrics-listen`: what is scraped while a session runs holds to the text format, only grows, and never exceeds what the
//! document says in the end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp, missing_docs)]

#[path = "support/mod.rs"]
mod bench;
#[path = "support/story.rs"]
mod story;
mod terminal_support;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use bench::Bench;
use terminal_support::place::Place;
use terminal_support::program::Program;
use terminal_support::wait_for;
use throttlescope::report::prometheus::{EARLIER, Exporter, WINDOWS_NAMED};
use throttlescope::report::{Entry, Recording, document};

/// Two short windows, a pause between them.
const PLAN: &str = "name = \"two\"\npause = \"1s\"\nwindow = \"3s\"\nrates = [200, 400]\n";
/// One window of a second.
const SHORT: &str = "name = \"one\"\nwindow = \"1s\"\nrates = [200]\n";
const QUICK: [&str; 2] = ["--embedded-time-scale", "20"];

/// Samples by name and labels.
type Samples = BTreeMap<String, f64>;

/// Reads the Prometheus text format as strictly as its checker does: families apart, described before their samples, names and labels
/// well-formed, values numbers, nothing twice, histograms cumulative and complete.
fn parsed(text: &str) -> Samples {
    let mut samples = Samples::new();
    let mut types: BTreeMap<String, String> = BTreeMap::new();
    let mut family = String::new();
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':')
    };
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            assert!(is_name(name) && !help.is_empty() && !types.contains_key(name), "{line}");
            family = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            assert_eq!(name, family, "{line}");
            assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{line}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            types.insert(name.to_owned(), kind.to_owned());
        } else {
            assert!(!line.starts_with('#') && !line.is_empty(), "{line:?}");
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            let (name, labels) = series
                .split_once('{')
                .map_or((series, ""), |(name, labels)| (name, labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"))));
            let suffixes =
                if types.get(&family).is_some_and(|kind| kind == "histogram") { &["_bucket", "_sum", "_count"][..] } else { &[""] };
            assert!(suffixes.iter().any(|suffix| name == format!("{family}{suffix}")), "{line} is not of {family}");
            for label in split_labels(labels) {
                let (key, quoted) = label.split_once('=').unwrap_or_else(|| panic!("{line}"));
                assert!(is_name(key) && quoted.len() >= 2 && quoted.starts_with('"') && quoted.ends_with('"'), "{line}");
            }
            let value: f64 = value.parse().unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(samples.insert(series.to_owned(), value).is_none(), "twice: {line}");
        }
    }
    histograms_are_whole(&samples);
    samples
}

fn split_labels(labels: &str) -> Vec<String> {
    let (mut found, mut label, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for c in labels.chars() {
        if c == ',' && !quoted {
            found.push(std::mem::take(&mut label));
            continue;
        }
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        label.push(c);
    }
    found.push(label);
    found.retain(|label| !label.is_empty());
    found
}

fn histograms_are_whole(samples: &Samples) {
    let mut seen = 0;
    for (count, value) in samples.iter().filter(|(series, _)| series.contains("_count{")) {
        let (name, labels) = count.split_once("_count{").unwrap();
        let labels = labels.trim_end_matches('}');
        let mut buckets: Vec<(f64, f64)> = samples
            .iter()
            .filter_map(|(series, value)| {
                let rest = series.strip_prefix(&format!("{name}_bucket{{{labels},le=\""))?;
                Some((rest.trim_end_matches("\"}").replace("+Inf", "inf").parse().unwrap(), *value))
            })
            .collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(buckets.windows(2).all(|two| two[0].1 <= two[1].1), "{buckets:?}");
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, *value)), "{count}");
        assert!(samples.contains_key(&format!("{name}_sum{{{labels}}}")));
        seen += 1;
    }
    assert!(seen == 0 || seen == 4, "accepted and throttled, service and response: {seen}");
}

fn ask(address: &str, request: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    stream.write_all(format!("{request} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer).filter(|answer| !answer.is_empty())
}

fn scraped(address: &str) -> Option<Samples> {
    let answer = ask(address, "GET /metrics")?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/plain; version=0.0.4"), "{head}");
    Some(parsed(body))
}

/// The program while it measures, and where it serves metrics.
fn started(place: &Place, plan: &str, more: &[&str]) -> (Program, String) {
    let plan = place.file("plan.toml", plan);
    let program = Program::without_screen(
        place,
        &[&["run", "--headless", "--plan", plan.as_str(), "--metrics-listen", "127.0.0.1:0"], &QUICK[..], more].concat(),
    );
    program.see("/metrics\n");
    let said = program.shows();
    let url = said.lines().find_map(|line| line.strip_prefix("metrics: http://")).unwrap_or_else(|| panic!("{said}"));
    let address = url.strip_suffix("/metrics").unwrap().to_owned();
    assert!(!address.ends_with(":0"), "{said}");
    (program, address)
}

fn is_counter(series: &str) -> bool {
    series.contains("_total{") || series.contains("_bucket{") || series.contains("_count{")
}

#[test]
fn counters_only_grow_and_never_exceed_what_the_document_says_in_the_end() {
    let place = Place::new();
    let (mut program, address) = started(&place, PLAN, &[]);
    let (mut last, mut grew) = (Samples::new(), 0);
    while !program.has_ended() {
        let Some(now) = scraped(&address) else { continue };
        for (series, before) in last.iter().filter(|(series, _)| is_counter(series)) {
            assert!(now.get(series).is_some_and(|now| now >= before), "{series} was {before} and is {:?}", now.get(series));
        }
        grew += usize::from(total(&now, "offered") > total(&last, "offered"));
        if !now.is_empty() {
            last = now;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let ended = program.end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert!(grew >= 2, "seen to grow {grew} times");
    let document = place.document();
    for name in ["offered", "accepted", "throttled", "failed", "timed_out", "shed"] {
        let in_the_end = document["totals"][name].as_f64().unwrap();
        assert!(total(&last, name) <= in_the_end, "{name}: {} above {in_the_end}", total(&last, name));
    }
    let offered = |window: u32| format!("window=\"{window}\",label=\"{}/s\",op=\"write\"}}", window * 200);
    for window in [1, 2] {
        let series =
            last.iter().find(|(series, _)| series.starts_with("throttlescope_offered_total{") && series.ends_with(&offered(window)));
        let in_the_end = document["windows"][window as usize - 1]["offered"].as_f64().unwrap();
        assert!(series.is_some_and(|(_, value)| *value > 0.0 && *value <= in_the_end), "window {window}: {last:?}");
    }
    let session = document["session"]["id"].as_str().unwrap();
    assert!(last.keys().all(|series| series.contains(&format!("{{session=\"{session}\",simulated=\"true\""))), "{last:?}");
    for (part, value) in [
        ("throttlescope_verdict_info{", "verdict=\""),
        ("throttlescope_session_info{", "client=\"wire\""),
        ("throttlescope_phase_info{", "phase=\""),
    ] {
        assert!(last.iter().any(|(series, one)| series.starts_with(part) && series.contains(value) && *one == 1.0), "{part}");
    }
    for gauge in ["offered_rate_requested", "offered_rate_applied", "in_flight", "time_to_active_seconds", "cost_usd", "elapsed_seconds"] {
        assert!(last.keys().any(|series| series.starts_with(&format!("throttlescope_{gauge}{{"))), "{gauge}: {last:?}");
    }
}

fn total(samples: &Samples, name: &str) -> f64 {
    let prefix = format!("throttlescope_{name}_total{{");
    samples.iter().filter(|(series, _)| series.starts_with(&prefix)).map(|(_, value)| value).sum()
}

#[test]
fn what_is_served_in_the_end_is_what_the_document_says() {
    let entries = story::whole_session();
    let mut exporter = Exporter::default();
    let mut grown = Samples::new();
    // The same exporter all along, which remembers windows that have ended.
    for seconds in [9, 60, 100, 150, 242] {
        let recording = Arc::new(story::told(story::until(&entries, seconds), seconds as u64));
        let now = parsed(&exporter.text(&recording).unwrap());
        assert!(
            grown.iter().filter(|(series, _)| is_counter(series)).all(|(series, before)| now.get(series).is_some_and(|now| now >= before))
        );
        grown = now;
    }
    let recording = story::told(&entries, 242);
    let document = document(&recording);
    let totals = &document.totals;
    for (name, in_the_end) in
        [("offered", totals.counts.offered), ("accepted", totals.counts.accepted), ("throttled", totals.counts.throttled)]
    {
        assert_eq!(total(&grown, name), in_the_end as f64, "{name}");
    }
    assert_eq!(Some(total(&grown, "consumed_units")), totals.consumed_units.get());
    for (outcome, in_the_end) in [("accepted", totals.counts.accepted), ("throttled", totals.counts.throttled)] {
        for since in ["service", "response"] {
            let of = format!("outcome=\"{outcome}\",since=\"{since}\"}}");
            let counted =
                grown.iter().find(|(series, _)| series.starts_with("throttlescope_latency_seconds_count{") && series.ends_with(&of));
            assert_eq!(counted.map(|(_, count)| *count), Some(in_the_end as f64), "{of}");
        }
    }
    assert!(grown.keys().any(|series| series.contains("verdict=\"service-bound\"")));
    assert_eq!(Exporter::default().text(&Arc::new(Recording::default())), Ok(String::new()), "nothing is known yet");
}

#[test]
fn windows_without_number_are_summed_so_that_scrapes_stay_small() {
    let mut bench = Bench::fresh_table(1);
    bench.journals = true;
    bench.entries.extend([story::start(), Entry::Target(story::simulated_target())]);
    for _ in 0..WINDOWS_NAMED + 30 {
        bench.window(10.0, 1);
    }
    bench.pause(1);
    let recording = Arc::new(story::told(&bench.entries, bench.now_s()));
    let text = Exporter::default().text(&recording).unwrap();
    let samples = parsed(&text);
    assert_eq!(total(&samples, "offered"), 10.0 * (WINDOWS_NAMED as f64 + 30.0));
    let earlier = samples.iter().find(|(series, _)| series.starts_with("throttlescope_offered_total{") && series.contains(EARLIER));
    assert_eq!(earlier.map(|(_, offered)| *offered), Some(300.0));
    assert!(text.len() < 400_000, "{} bytes", text.len());
}

#[test]
fn scrapers_that_say_or_read_nothing_are_bounded_and_disturb_nobody() {
    let place = Place::new();
    let (mut program, address) = started(&place, PLAN, &[]);
    // Some say nothing, some ask and do not read, some send nonsense.
    let mut idle: Vec<TcpStream> = Vec::new();
    for number in 0..40 {
        let Ok(mut stream) = TcpStream::connect(&address) else { continue };
        let words: &[u8] = match number % 3 {
            0 => b"",
            1 => b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
            _ => b"\x16\x03\x01\x00\xff nonsense",
        };
        let _may_be_refused = stream.write_all(words);
        idle.push(stream);
    }
    let ended = program.end();
    drop(idle);
    assert_eq!(ended.code, 0, "{}", ended.said);
    let document = place.document();
    assert_eq!((document["totals"]["offered"].as_u64(), document["totals"]["failed"].as_u64()), (Some(1_800), Some(0)));
}

#[test]
fn other_paths_and_methods_are_told_where_metrics_are() {
    let place = Place::new();
    let (mut program, address) = started(&place, PLAN, &[]);
    for (request, status) in [("GET /", "404"), ("POST /metrics", "405"), ("HEAD /metrics", "200"), ("GET /metrics?x=1", "200")] {
        let mut answer = None;
        wait_for(
            || {
                answer = ask(&address, request);
                answer.is_some() || program.has_ended()
            },
            || request.to_owned(),
        );
        let answer = answer.expect("an answer while it runs");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    }
    program.signal(rustix::process::Signal::TERM);
    assert_eq!(program.end().code, 143);
}

#[test]
fn an_address_that_others_can_reach_or_that_is_taken_is_refused_before_anything_is_created() {
    let place = Place::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    for (address, part) in
        [("0.0.0.0:0", "--metrics-allow-remote"), ("[::]:0", "--metrics-allow-remote"), (taken.as_str(), "name another address")]
    {
        let done = place.run(&["run", "--headless", "--metrics-listen", address]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(place.run(&["run", "--headless", "--metrics-allow-remote"]).status.code(), Some(2));
    assert!(place.journal().is_none() && place.written(".json").is_empty());
}

#[test]
fn each_of_several_runs_is_shown_under_its_own_session() {
    let place = Place::new();
    let (mut program, address) = started(&place, SHORT, &["--repeat", "2"]);
    let mut sessions = std::collections::BTreeSet::new();
    while !program.has_ended() {
        let now = scraped(&address).unwrap_or_default();
        let of = |series: &String| Some(series.split_once("session=\"")?.1.split_once('"')?.0.to_owned());
        let here: std::collections::BTreeSet<String> = now.keys().filter_map(of).filter(|id| !id.is_empty()).collect();
        assert!(here.len() <= 1, "{here:?}");
        sessions.extend(here);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!((program.end().code, sessions.len()), (0, 2), "{sessions:?}");
}
