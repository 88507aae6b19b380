//! Plans as TOML.
//!
//! ```toml
//! name = "mine"
//! about = "what it is for"
//! op = "write"           # write or read: of all windows that do not say
//! reads = 0.3            # or mixed load: the share of reads
//! window = "30s"         # length of windows that do not say
//! pause = "3s"           # pause before each window but the first
//! until = "sustained for 20s"   # what ends windows early; or "first throttle + 30s"
//! item_bytes = 1000
//! keys = "uniform"       # uniform, sequential, hot, zipf:S
//! items = 1000           # seeded for reads
//! consistent_read = false
//! repeat = 1             # all of it so many times
//!
//! rates = [1000, "2k"]   # one window each; or
//! steps = { from = 1000, to = 8000, by = 1000 }   # or
//! [[windows]]            # window by window
//! rate = 1000
//! to = 8000              # a ramp
//! length = "60s"
//! pause = "0s"
//! op = "write"
//! reads = 0.5
//! item_bytes = 2000
//! keys = "hot"
//! until = "first throttle + 5s"
//! repeat = 2
//! label = "up"
//!
//! [search]               # after one over-driven window: search the clean ceiling
//! precision = 0.01
//! longest = "10m"
//! most_operations = 6000000
//! most_time = "55m"
//! ```

use std::time::Duration;

use super::checks::{self, MOST_WINDOWS};
use super::reader::{self, Mistakes, PlanError, Reader};
use super::{Plan, PlanWindow, Search, Until};
use crate::load::keys::Keys;
use crate::load::op::Op;
use crate::load::rate::Rate;
use crate::load::share::Share;

const KEYS: [&str; 16] = [
    "name",
    "about",
    "op",
    "reads",
    "window",
    "pause",
    "until",
    "item_bytes",
    "keys",
    "items",
    "consistent_read",
    "repeat",
    "rates",
    "steps",
    "windows",
    "search",
];
const STEP_KEYS: [&str; 3] = ["from", "to", "by"];
const WINDOW_KEYS: [&str; 11] = ["rate", "to", "length", "pause", "op", "reads", "item_bytes", "keys", "until", "repeat", "label"];
const SEARCH_KEYS: [&str; 4] = ["precision", "longest", "most_operations", "most_time"];
/// Items that can be seeded.
const MOST_ITEMS: u64 = 1_000_000;

/// What windows have that do not say otherwise.
struct Defaults {
    op: Op,
    reads: Option<Share>,
    length: Option<Duration>,
    pause: Duration,
    until: Option<Until>,
}

/// Reads a plan from TOML. `file` is named in errors; all mistakes are told at once.
pub fn parse(text: &str, file: &str) -> Result<Plan, PlanError> {
    let failed = |mistakes| PlanError { file: file.to_owned(), mistakes };
    let root = reader::root(text).map_err(failed)?;
    let mistakes = Mistakes::new(text);
    let top = Reader::new(root.get_ref(), 0, String::new(), &KEYS, &mistakes);
    let plan = plan(&top);
    let found = mistakes.take();
    if found.is_empty() { Ok(plan) } else { Err(failed(found)) }
}

/// The plan as far as it can be read; what cannot is noted.
fn plan(top: &Reader<'_>) -> Plan {
    let name = top.text("name").unwrap_or_default();
    if !top.has("name") {
        top.wrong("", "a plan needs a name; add for example name = \"mine\"");
    } else if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')) {
        top.wrong("name", format!("`{}` is not a name; write letters, digits, `-`, `_` or `.`", name.escape_default()));
    }
    let defaults = Defaults {
        op: top.parsed("op").unwrap_or_default(),
        reads: share(top),
        length: length(top, "window"),
        pause: top.span("pause").unwrap_or_default(),
        until: top.parsed("until"),
    };
    let windows = windows(top, &defaults);
    let mut plan = Plan::of(name, top.text("about").unwrap_or_default(), windows);
    plan.item_bytes = size(top);
    plan.keys = top.parsed("keys");
    plan.consistent_read = top.flag("consistent_read");
    plan.items = top.count("items");
    if plan.items.is_some_and(|items| items > MOST_ITEMS) {
        top.wrong("items", format!("at most {MOST_ITEMS} items can be seeded"));
    }
    if let Some(times) = repeat(top, plan.windows.len()) {
        let pause = defaults.pause;
        let round = plan.windows.clone();
        for _ in 1..times {
            // The first window of a further round has a window before it, and so a pause.
            plan.windows.extend(round.iter().enumerate().map(|(index, window)| {
                let pause = if index == 0 { window.pause.max(pause) } else { window.pause };
                PlanWindow { pause, ..window.clone() }
            }));
        }
    }
    plan.search = search(top, &plan);
    if let Some(wrong) = checks::together(&plan) {
        top.wrong("windows", wrong);
    }
    plan
}

fn windows(top: &Reader<'_>, defaults: &Defaults) -> Vec<PlanWindow> {
    let ways: Vec<&str> = ["rates", "steps", "windows"].into_iter().filter(|way| top.has(way)).collect();
    if let [_, second, ..] = ways.as_slice() {
        top.wrong(second, format!("{} say the same in different ways; keep one of them", ways.join(" and ")));
    }
    match ways.first() {
        None => {
            top.wrong("", "a plan needs at least one window; add for example rates = [1000, 2000]");
            Vec::new()
        }
        Some(&"windows") => listed(top, defaults),
        Some(way) => {
            let rates = if *way == "rates" { rates(top) } else { steps(top) };
            if rates.is_empty() {
                return Vec::new();
            }
            let Some(length) = defaults.length else {
                if !top.has("window") {
                    top.wrong(way, "these windows have no length; add window = \"30s\"");
                }
                return Vec::new();
            };
            let of = |(index, rate): (usize, Rate)| {
                let pause = if index == 0 { Duration::ZERO } else { defaults.pause };
                let op = if defaults.reads.is_some() { Op::Write } else { defaults.op };
                PlanWindow { reads: defaults.reads, until: defaults.until, ..PlanWindow::steady(op, rate, length, pause) }
            };
            rates.into_iter().enumerate().map(of).collect()
        }
    }
}

fn rates(top: &Reader<'_>) -> Vec<Rate> {
    let listed = top.list("rates", "rates = [1000, 2000]").unwrap_or_default();
    if top.has("rates") && listed.is_empty() {
        top.wrong("rates", "this list of rates is empty; write for example rates = [1000, 2000]");
    }
    let read = |(value, _): (&_, usize)| reader::rate(value).map_err(|message| top.wrong("rates", message)).ok();
    listed.into_iter().filter_map(read).collect()
}

fn steps(top: &Reader<'_>) -> Vec<Rate> {
    let Some(steps) = top.table("steps", &STEP_KEYS) else { return Vec::new() };
    let (from, to, by) = (steps.rate("from"), steps.rate("to"), steps.rate("by"));
    for key in STEP_KEYS.into_iter().filter(|key| !steps.has(key)) {
        steps.wrong("", format!("`{key}` is missing; write for example {{ from = 1000, to = 8000, by = 1000 }}"));
    }
    let (Some(from), Some(to), Some(by)) = (from, to, by) else { return Vec::new() };
    let count = from.milli().abs_diff(to.milli()) / by.milli().max(1) + 1;
    if count > MOST_WINDOWS as u64 {
        steps.wrong("by", format!("these are {count} windows; a plan has at most {MOST_WINDOWS}"));
        return Vec::new();
    }
    let at = |step: u64| if to >= from { from.milli() + step * by.milli() } else { from.milli() - step * by.milli() };
    (0..count).filter_map(|step| Rate::from_per_s(at(step) as f64 / 1_000.0).ok()).collect()
}

fn listed(top: &Reader<'_>, defaults: &Defaults) -> Vec<PlanWindow> {
    let tables = top.tables("windows", &WINDOW_KEYS).unwrap_or_default();
    if top.has("windows") && tables.is_empty() {
        top.wrong("windows", "a plan needs at least one window; add [[windows]] with rate = 1000");
    }
    let mut windows = Vec::with_capacity(tables.len());
    for (index, table) in tables.iter().enumerate() {
        let Some(window) = window(table, defaults, index == 0) else { continue };
        let times = repeat(table, windows.len() + 1).unwrap_or(1);
        let again = PlanWindow { pause: table.span("pause").unwrap_or(defaults.pause), ..window.clone() };
        windows.push(window);
        windows.extend(std::iter::repeat_n(again, times.saturating_sub(1)));
    }
    windows
}

fn window(table: &Reader<'_>, defaults: &Defaults, is_first: bool) -> Option<PlanWindow> {
    // Everything is read before anything decides, so that every mistake is found.
    let (rate, ramp_to) = (table.rate("rate"), table.rate("to"));
    let own = length(table, "length");
    let pause = table.span("pause").unwrap_or(if is_first { Duration::ZERO } else { defaults.pause });
    let (op, own_reads) = (table.parsed("op"), share(table));
    let reads = own_reads.or(defaults.reads.filter(|_| !table.has("op")));
    let (item_bytes, keys): (_, Option<Keys>) = (size(table), table.parsed("keys"));
    let until = table.parsed("until").or(defaults.until);
    let label = table.text("label");
    if label.is_some_and(str::is_empty) {
        table.wrong("label", "an empty label names nothing; leave it out, or write for example \"60 s\"");
    }
    if !table.has("rate") {
        table.wrong("", "this window has no rate; add for example rate = 5000");
    }
    if own.is_none() && !table.has("length") && defaults.length.is_none() {
        table.wrong("", "this window has no length; add length = \"30s\" here, or window = \"30s\" at the top");
    }
    let (rate, length) = (rate?, own.or(defaults.length)?);
    let op = if reads.is_some() { Op::Write } else { op.unwrap_or(defaults.op) };
    let steady = PlanWindow::steady(op, rate, length, pause);
    let window = PlanWindow { reads, ramp_to: ramp_to.filter(|to| *to != rate), item_bytes, keys, until, ..steady };
    Some(PlanWindow { label: label.map_or_else(|| format!("{}/s", window.rate_in_words()), str::to_owned), ..window })
}

fn share(table: &Reader<'_>) -> Option<Share> {
    if table.has("reads") && table.has("op") {
        table.wrong("reads", "`op` and `reads` exclude each other: `reads` mixes writes and reads; keep one of them");
    }
    let share = table.number("reads")?;
    let found = Share::new(share);
    if found.is_none() {
        table.wrong(
            "reads",
            format!("{share} is not a share between 0 and 1; write for example reads = 0.3, or op = \"read\" for reads alone"),
        );
    }
    found
}

fn length(table: &Reader<'_>, key: &str) -> Option<Duration> {
    checks::length(table.span(key)?).map_err(|message| table.wrong(key, message)).ok()
}

fn size(table: &Reader<'_>) -> Option<u32> {
    checks::item_bytes(table.count("item_bytes")?).map_err(|message| table.wrong("item_bytes", message)).ok()
}

fn repeat(table: &Reader<'_>, windows: usize) -> Option<usize> {
    let times = usize::try_from(table.count("repeat")?).unwrap_or(usize::MAX);
    if times.saturating_mul(windows.max(1)) > MOST_WINDOWS {
        table.wrong("repeat", format!("repeated {times} times these are more than the {MOST_WINDOWS} windows that a plan has at most"));
        return None;
    }
    Some(times)
}

fn search(top: &Reader<'_>, plan: &Plan) -> Option<Search> {
    let table = top.table("search", &SEARCH_KEYS)?;
    let precision = table.number("precision").unwrap_or(0.01);
    if !(0.001..=0.2).contains(&precision) {
        table.wrong("precision", format!("{precision} is outside 0.001 to 0.2; write for example 0.01 for 1 %"));
    }
    let longest = table.span("longest").unwrap_or(Duration::from_secs(600));
    if !(Duration::from_secs(30)..=Duration::from_secs(3_600)).contains(&longest) {
        table.wrong("longest", "the longest window of a search takes from 30s to 1h; write for example \"10m\"");
    }
    let most_operations = table.count("most_operations").unwrap_or(6_000_000);
    let most_time = table.span("most_time").unwrap_or(Duration::from_secs(3_300));
    match plan.windows.as_slice() {
        [only] if only.reads.is_none() && only.ramp_to.is_none() => {
            if only.operations() > most_operations {
                table.wrong("most_operations", format!("the first window alone offers {} operations; allow more", only.operations()));
            }
            if only.length > most_time {
                table.wrong("most_time", "the first window alone takes longer; allow more");
            }
            Some(Search { op: only.op, precision, longest, most_operations, most_time })
        }
        [] => None,
        _ => {
            table.wrong("", "a search starts from exactly one window, at one rate with one operation, which over-drives the table");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_exactly_what_it_offers() {
        let plan = parse("name = 'x'\nwindow = '30s'\npause = '3s'\nrates = [1000, '2.5k']", "x.toml").expect("a plan");
        assert_eq!(plan.operations(), 105_000);
        assert_eq!(plan.duration(), Duration::from_secs(63));
        assert_eq!(plan.windows[0].pause, Duration::ZERO);
        assert_eq!(plan.windows[1].label, "2,500/s");
        assert!(plan.is_exact());
    }

    #[test]
    fn steps_ramps_repeats_mixes_and_ends_are_what_was_written() {
        let text = "name = 'all'\npause = '2s'\nitem_bytes = 2000\nuntil = 'sustained for 20s'\n\
            [[windows]]\nrate = 1000\nto = 8000\nlength = '60s'\nuntil = 'first throttle + 5s'\n\
            [[windows]]\nrate = 500\nlength = '1.5s'\nreads = 0.25\nrepeat = 2\npause = '0.5s'\nkeys = 'zipf:1.1'\nitem_bytes = 4096\nlabel = 'mixed'\n";
        let plan = parse(text, "all.toml").expect("a plan");
        assert_eq!(plan.windows.len(), 3);
        let [ramp, mixed, again] = plan.windows.as_slice() else { panic!("three") };
        assert_eq!((ramp.ramp_to, ramp.label.as_str()), (Some(Rate::per_second(8_000)), "1,000-8,000/s"));
        assert_eq!(ramp.until, Some(Until::FirstThrottle(Duration::from_secs(5))));
        assert_eq!((mixed.pause, mixed.item_bytes, mixed.keys), (Duration::from_millis(500), Some(4_096), Some(Keys::Zipf(1.1))));
        assert_eq!(mixed, again);
        assert_eq!(mixed.until, Some(Until::Sustained(Duration::from_secs(20))));
        assert!(plan.reads() && plan.writes() && !plan.is_exact());
        assert_eq!(plan.seeded_bytes(), Some(4_096));
        let steps =
            parse("name='s'\nwindow='5s'\npause='1s'\nrepeat=2\nsteps = { from = 1000, to = 3000, by = 1000 }", "s").expect("a plan");
        let rates: Vec<f64> = steps.windows.iter().map(|window| window.rate.per_s()).collect();
        assert_eq!(rates, [1_000.0, 2_000.0, 3_000.0, 1_000.0, 2_000.0, 3_000.0]);
        assert_eq!(steps.windows[3].pause, Duration::from_secs(1), "a further round has its pause");
    }

    #[test]
    fn twenty_kinds_of_mistakes_give_twenty_messages_at_once() {
        let text = r#"about = "no name"
op = "scan"
reads = 0.5
window = "soon"
pause = "50ms"
until = "tired"
item_bytes = 5
keys = "random"
items = 9000000
consistent_read = "yes"
repeat = 0
ratez = [1]
[[windows]]
rate = 0
length = "0s"
reads = 1.5
[[windows]]
rate = true
length = 10
label = ""
to = -5
[[windows]]
length = "1s"
item_bytes = 500000
until = 3
keys = 7
[search]
precision = 2
longest = "1s"
most = 1
"#;
        let error = parse(text, "mine.toml").expect_err("wrong");
        let said = error.to_string();
        for part in [
            "line 1: a plan needs a name; add for example name = \"mine\"",
            "line 2: op: `scan` is not an operation; type write or read",
            "line 3: reads: `op` and `reads` exclude each other",
            "line 4: window: `soon` is not a length of time; type for example 30s",
            "line 5: pause: `50ms` is not a whole number of tenths of a second",
            "line 6: until: `tired` does not say what ends a window",
            "line 7: item_bytes: 5 is not an item size; write 23 to 409600 bytes",
            "line 8: keys: `random` is not a key distribution",
            "line 9: items: at most 1000000 items can be seeded",
            "line 10: consistent_read: a string is neither true nor false",
            "line 11: repeat: 0 is not a whole number of at least 1",
            "line 12: ratez: there is no such key; did you mean `rates`?",
            "line 14: windows[1].rate: a rate must be at least",
            "line 15: windows[1].length: a window lasts from 1s to 24h",
            "line 16: windows[1].reads: 1.5 is not a share between 0 and 1",
            "line 18: windows[2].rate: a boolean is not a rate",
            "line 20: windows[2].label: an empty label names nothing",
            "line 21: windows[2].to: a rate must be at least",
            "line 22: windows[3]: this window has no rate",
            "line 24: windows[3].item_bytes: 500000 is not an item size",
            "line 25: windows[3].until: an integer stands where a text in quotes belongs",
            "line 26: windows[3].keys: an integer stands where a text in quotes belongs",
            "line 28: search.precision: 2 is outside 0.001 to 0.2",
            "line 29: search.longest: the longest window of a search takes from 30s to 1h",
            "line 30: search.most: there is no such key; the keys here are precision, longest, most_operations, most_time",
        ] {
            assert!(said.lines().any(|line| line.starts_with("mine.toml: ") && line.contains(part)), "{part}\n{said}");
        }
        assert!(error.mistakes.is_sorted_by_key(|mistake| mistake.line));
    }

    #[test]
    fn a_plan_that_does_not_fit_together_is_told_why() {
        for (text, part) in [
            ("name = ", "line 1: "),
            ("name = 'x'", "at least one window"),
            ("name = 'x'\nrates = [1]", "line 2: rates: these windows have no length"),
            ("name = 'x'\nrates = []", "this list of rates is empty"),
            ("name = 'x'\nrates = 5", "line 2: rates: an integer is not a list"),
            ("name = 'x'\nwindows = 3", "line 2: windows: an integer is not a list"),
            ("name = 'a b'\nwindow='1s'\nrates=[1]", "line 1: name: `a b` is not a name"),
            ("name = 'x'\nwindow='1s'\nrates=[1]\n[[windows]]\nrate=1", "keep one of them"),
            ("name = 'x'\nwindow='1s'\nrepeat=2000\nrates=[1]", "more than the 1000 windows"),
            ("name = 'x'\nwindow='1s'\nsteps={from=1,to=1e6,by=1}", "steps.by: these are 1000000 windows"),
            ("name = 'x'\nwindow='1s'\nsteps={from=1,to=5}", "`by` is missing"),
            ("name = 'x'\nwindow='1s'\nrates=[1,2]\n[search]", "exactly one window"),
            ("name = 'x'\nwindow='1s'\nrates=[10]\n[search]\nmost_operations=1", "the first window alone offers 10 operations"),
            (
                "name = 'x'\nwindow='1s'\nop='read'\n[[windows]]\nrate=1\nitem_bytes=100\n[[windows]]\nrate=1\nitem_bytes=200",
                "they all need one item_bytes",
            ),
        ] {
            let said = parse(text, "mine.toml").expect_err(text).to_string();
            assert!(said.starts_with("mine.toml: ") && said.contains(part), "{text:?}: {said}");
        }
    }
}
