//! The written renderings of a session document: Markdown, limits page, CSV and interval log. The page has its own tests.

#[path = "support/mod.rs"]
mod bench;
#[path = "support/story.rs"]
mod story;
#[path = "support/telling.rs"]
mod telling;

use std::sync::LazyLock;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use throttlescope::report::{Document, Finite, csv_buckets, csv_windows, hlog, html, limits, markdown};

static WHOLE: LazyLock<Document> = LazyLock::new(telling::whole);

fn every_rendering(document: &Document) -> Vec<(&'static str, String)> {
    let told = |rendered: Result<String, String>| rendered.unwrap_or_else(|why| panic!("{why}"));
    vec![
        ("md", markdown(document)),
        ("limits", limits(document)),
        ("csv", csv_buckets(document)),
        ("csv-windows", csv_windows(document)),
        ("hlog", told(hlog(document))),
        ("html", told(html(document))),
    ]
}

#[test]
fn the_reference_page_of_a_finished_session() {
    insta::assert_snapshot!("markdown", markdown(&WHOLE));
}

#[test]
fn the_limits_page_of_a_finished_session() {
    insta::assert_snapshot!("limits", limits(&WHOLE));
}

#[test]
fn the_reference_page_of_a_failed_session_on_aws_does_not_say_simulated_and_says_what_is_left_behind() {
    let page = markdown(&telling::failed());
    assert!(!page.contains("SIMULATED") && page.contains("MAY BE LEFT BEHIND") && page.contains("price not known"), "{page}");
    insta::assert_snapshot!("markdown_failed", page);
}

#[test]
fn the_reference_page_of_a_client_that_fell_short_names_no_ceiling() {
    let page = markdown(&telling::client_bound());
    assert!(page.contains("CLIENT-BOUND") && page.contains("client-saturated"), "{page}");
    assert!(!page.contains("above the sustained ceiling because"), "{page}");
    let page = limits(&telling::client_bound());
    assert!(page.contains("| Sustained ceiling | not measured: see the caveats |") && page.contains("CLIENT-BOUND"), "{page}");
    assert!(page.contains("No request was throttled"), "{page}");
}

#[test]
fn a_session_without_windows_has_every_rendering_and_no_figure() {
    let document = telling::nothing();
    for (format, page) in every_rendering(&document) {
        assert!(!page.contains("NaN") && !page.contains("inf"), "{format}: {page}");
    }
    insta::assert_snapshot!("limits_nothing", limits(&document));
    assert_eq!(csv_buckets(&document).lines().count(), 1);
    assert_eq!(csv_windows(&document).lines().count(), 1);
}

#[test]
fn ramps_own_items_own_keys_and_mixed_load_are_named_where_they_are() {
    let page = markdown(&telling::varied());
    assert!(page.contains("| 1 | write | - | 1,000 to 3,000 | 30 s |"), "{page}");
    assert!(page.contains("| 6 | write | hot | 6,000 |"), "{page}");
    assert!(page.contains("| 02:15 | 04:00 | ACTIVE | on-demand | 5,000 write and 12,000 read units/s | - |"), "{page}");
    assert!(page.contains("| 6 | hot | 30,000 | ") && page.contains("| 50.0 % |"), "{page}");
    assert!(page.contains("**Configured maximum**: 6,000 write and 6,000 read units/s"), "{page}");
    let page = markdown(&telling::mixed());
    assert!(page.contains("| 3 | 3,000/s | write | 4,000 | - | 3,000 |"), "{page}");
    assert!(page.contains("8,000/s, mixed with #6 | read |"), "{page}");
    // 90,000 writes of 4,000 bytes are 360,000 units.
    assert!(page.contains("| 3 | 90,000 | 90,000 | 90,000 | 0 | 0 | 0 | 0 | 0 | 360,000 |"), "{page}");
    assert!(page.contains("a size of its own in each window"), "{page}");
    let text = csv_windows(&telling::mixed());
    assert_eq!(column(&text, "item_bytes")[1..3], ["1000", "4000"]);
    assert_eq!(column(&text, "keys")[4..6], ["uniform", "hot"]);
    assert_eq!(column(&text, "beside_window")[4..], ["", "7", "6"]);
    assert_eq!(column(&text, "offered_to_per_s")[..2], ["3000", ""]);
    let page = limits(&telling::varied());
    assert!(page.contains("| Configured maximum | 6,000 write and 6,000 read units/s"), "{page}");
}

#[test]
fn whatever_was_simulated_says_so_in_every_rendering() {
    let mut document = WHOLE.clone();
    for (format, page) in every_rendering(&document) {
        assert!(page.contains("SIMULATED"), "{format}");
    }
    let page = limits(&document);
    assert!(page.lines().next().is_some_and(|line| line.contains("SIMULATED")), "{page}");
    assert!(page.lines().any(|line| line.starts_with("# SIMULATED")), "{page}");
    assert!(csv_buckets(&document).lines().skip(1).all(|row| row.starts_with("SIMULATED,")));
    document.target.simulated = false;
    for (format, page) in every_rendering(&document) {
        assert!(!page.contains("SIMULATED"), "{format}");
    }
}

#[test]
fn hostile_text_is_harmless_in_every_rendering() {
    let document = telling::hostile();
    for (format, page) in every_rendering(&document) {
        let harmless = |c: char| matches!(c, '\n' | '\r') || !c.is_control() && !matches!(c, '\u{202e}' | '\u{200b}');
        assert!(page.chars().all(harmless), "{format}");
        assert!(format.starts_with("csv") || !page.contains("\r"), "{format}");
    }
    let page = markdown(&document);
    for line in page.lines().filter(|line| !line.contains("`````") && line.contains('<')) {
        let escaped = line.matches("\\<").count();
        assert!(escaped == line.matches('<').count() || line.ends_with("```` # not a heading"), "{line}");
    }
    assert!(page.contains(r"\<script>alert(1)\</script> \| \`x\` \[a\](javascript:1) https\://evil.example"), "{page}");
    // A message that holds a fence is shown in a longer one.
    assert!(page.contains("`````text\n") && page.contains("\n`````\n"), "{page}");
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    for table in page.split("\n\n").filter(|block| block.starts_with('|')) {
        let widths: Vec<usize> = table.lines().map(columns).collect();
        assert!(widths.iter().all(|w| *w == widths[0]), "{table}");
    }
    insta::assert_snapshot!("limits_hostile", limits(&document));
}

fn table(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    assert!(text.lines().count() > 0 && text.ends_with("\r\n") && text.matches('\n').count() == text.matches("\r\n").count());
    let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(text.as_bytes());
    let head = reader.headers().expect("a head").iter().map(str::to_owned).collect();
    let rows = reader.records().map(|row| row.expect("a row as long as the head").iter().map(str::to_owned).collect());
    (head, rows.collect())
}

fn column(text: &str, name: &str) -> Vec<String> {
    let (head, rows) = table(text);
    let at = head.iter().position(|n| n == name).unwrap_or_else(|| panic!("{name}: {head:?}"));
    rows.into_iter().map(|row| row[at].clone()).collect()
}

fn figures(text: &str, name: &str) -> Vec<Finite> {
    let figure = |cell: String| if cell.is_empty() { Finite::NULL } else { cell.parse::<f64>().expect("a figure").into() };
    column(text, name).into_iter().map(figure).collect()
}

fn counts(text: &str, name: &str) -> Vec<u64> {
    column(text, name).into_iter().map(|cell| cell.parse().expect("a count")).collect()
}

#[test]
fn the_buckets_read_back_from_csv_are_those_of_the_document() {
    let (text, b) = (csv_buckets(&WHOLE), &WHOLE.buckets);
    for (name, of) in [
        ("start_s", &b.start_s),
        ("service_p50_ms", &b.p50_ms),
        ("service_p99_ms", &b.p99_ms),
        ("response_p50_ms", &b.response_p50_ms),
        ("response_p99_ms", &b.response_p99_ms),
    ] {
        assert_eq!(&figures(&text, name), of, "{name}");
    }
    assert!(b.p50_ms.iter().any(|value| value.get().is_none()), "a pause has no latency");
    for (name, of) in [
        ("offered", &b.offered),
        ("accepted", &b.accepted),
        ("throttled", &b.throttled),
        ("failed", &b.failed),
        ("timed_out", &b.timed_out),
        ("shed", &b.shed),
    ] {
        assert_eq!(&counts(&text, name), of, "{name}");
    }
    let windows: Vec<Option<u32>> = column(&text, "window").into_iter().map(|cell| cell.parse::<u32>().ok().map(|n| n - 1)).collect();
    assert_eq!(windows, b.window);
    let head: String = text.lines().take(12).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("csv", head);
}

#[test]
fn the_windows_read_back_from_csv_are_those_of_the_document() {
    let text = csv_windows(&WHOLE);
    let of = |get: fn(&throttlescope::report::document::Window) -> Finite| -> Vec<Finite> { WHOLE.windows.iter().map(get).collect() };
    assert_eq!(figures(&text, "offered_per_s"), of(|w| w.offered_per_s));
    assert_eq!(figures(&text, "sustained_per_s"), of(|w| w.sustained_per_s));
    assert_eq!(figures(&text, "sustained_ci95_high_per_s"), of(|w| w.sustained_ci95_per_s.map_or(Finite::NULL, |ci| ci[1])));
    assert_eq!(figures(&text, "burst_units"), of(|w| w.burst_units));
    assert_eq!(figures(&text, "accepted_service_p99_ms"), of(|w| w.latency_ms.accepted.service.p99));
    assert_eq!(figures(&text, "throttled_response_p50_ms"), of(|w| w.latency_ms.throttled.response.p50));
    assert_eq!(counts(&text, "throttled"), WHOLE.windows.iter().map(|w| w.counts.throttled).collect::<Vec<_>>());
    insta::assert_snapshot!("csv_windows", text.replace("\r\n", "\n"));
}

#[test]
fn no_cell_of_foreign_text_is_a_formula_and_none_breaks_its_row() {
    let (_, rows) = table(&csv_windows(&telling::hostile()));
    assert_eq!(rows[0][3], "'=cmd|'/c calc'!A0, \"quoted\"");
}

#[test]
fn the_interval_log_read_back_has_the_counts_and_percentiles_of_every_window() {
    let log = hlog(&WHOLE).expect("a log");
    let (mut start, mut base, mut seen) = (None, None, Vec::new());
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        match entry.expect("an entry") {
            LogEntry::StartTime(time) => start = Some(time.as_secs()),
            LogEntry::BaseTime(time) => base = Some(time.as_secs()),
            LogEntry::Interval(interval) => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).expect("base64");
                let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
                assert!((interval.max() - histogram.max() as f64 / 1_000.0).abs() < 1e-3, "the largest value is in milliseconds");
                seen.push((
                    interval.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default(),
                    interval.start_timestamp().as_secs_f64(),
                    interval.duration().as_secs_f64(),
                    histogram,
                ));
            }
        }
    }
    // 2026-09-01T12:00:00Z
    assert_eq!((start, base), (Some(1_788_264_000), Some(1_788_264_000)));
    let mut expected = 0;
    for window in &WHOLE.windows {
        for (tag, figures) in [
            ("accepted-service", &window.latency_ms.accepted.service),
            ("accepted-response", &window.latency_ms.accepted.response),
            ("throttled-service", &window.latency_ms.throttled.service),
            ("throttled-response", &window.latency_ms.throttled.response),
        ] {
            let found = seen.iter().find(|(name, at, ..)| name == tag && Some(*at) == window.start_s.get());
            assert_eq!(found.is_some(), figures.count > 0, "{tag}");
            let Some((_, _, span, histogram)) = found else { continue };
            expected += 1;
            assert_eq!((Some(*span), histogram.len()), (window.duration_s.get(), figures.count), "{tag}");
            for (quantile, value) in [(0.5, figures.p50), (0.9, figures.p90), (0.99, figures.p99), (0.999, figures.p999)] {
                let micros = histogram.value_at_quantile(quantile).min(histogram.max());
                assert_eq!(Finite::from(micros as f64 / 1_000.0), value, "{tag} {quantile}");
            }
        }
    }
    assert_eq!(seen.len(), expected);
    assert!(expected >= 20, "{expected}");
}

#[test]
fn an_interval_log_of_a_document_that_holds_no_histogram_says_which_window() {
    let mut document = WHOLE.clone();
    document.windows[1].histograms_v2_base64.service_accepted = Some("AAAA".to_owned());
    let why = hlog(&document).expect_err("refused");
    assert!(why.contains("accepted-service of window 2 cannot be read"), "{why}");
    document.session.started_at = "yesterday".to_owned();
    let why = hlog(&document).expect_err("refused");
    assert!(why.contains("`yesterday` is no RFC 3339 time"), "{why}");
}

fn report(dir: &std::path::Path, arguments: &[&str]) -> std::process::Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_throttlescope"))
        .arg("report")
        .args(arguments)
        .current_dir(dir)
        .env("XDG_STATE_HOME", dir)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("ran")
}

#[test]
fn the_command_writes_every_format_for_its_owner_only_and_never_over_a_file_unless_told() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("s.jsonl"), story::journal(&story::whole_session())).expect("a journal");
    throttlescope::report::write_new(&dir.path().join("s.json"), &WHOLE, false).expect("a document");
    for (format, expected) in every_rendering(&WHOLE) {
        let out = dir.path().join(format!("out.{format}"));
        let arguments = ["s.json", "--format", format, "--out", &format!("out.{format}")];
        assert!(report(dir.path(), &arguments).status.success(), "{format}");
        assert_eq!(std::fs::read_to_string(&out).expect("written"), expected, "{format}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&out).expect("there").permissions().mode() & 0o777, 0o600, "{format}");
        }
        std::fs::write(&out, "precious").expect("written");
        let again = report(dir.path(), &arguments);
        assert_eq!(again.status.code(), Some(2), "{format}");
        assert!(String::from_utf8_lossy(&again.stderr).contains("add --force"), "{format}");
        assert_eq!(std::fs::read_to_string(&out).expect("read"), "precious", "{format}");
    }
    let forced = report(dir.path(), &["s.json", "--format", "md", "--out", "out.md", "--force"]);
    assert!(forced.status.success());
    assert_eq!(std::fs::read_to_string(dir.path().join("out.md")).expect("read"), markdown(&WHOLE));
    // A journal gives the same page.
    let printed = report(dir.path(), &["s.jsonl", "--format", "md"]);
    let page = String::from_utf8(printed.stdout).expect("text");
    assert!(page.contains("# SIMULATED: Throughput of table throttlescope-ts-7f3a09 in us-east-1, 2026-09-01"), "{page}");
}
