//! A session without a screen as a process of its own, and what its document says.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rustix::process::Signal;
use serde_json::Value;

use crate::terminal_support::place::Place;
use crate::terminal_support::program::Program;

/// A profile of tables that accept everything at once.
pub(crate) const EVERYTHING: &str = "unlimited = true\n[table]\nactivation_s = 0\ndeletion_s = 0\n[latency_ms]\n\
     write = { p50 = 0, p99 = 0 }\nread = { p50 = 0, p99 = 0 }\nrefusal = { p50 = 0, p99 = 0 }\n";

/// A session that runs.
pub(crate) struct Session {
    place: Place,
    program: Program,
}

impl Session {
    /// Starts one against this server.
    pub(crate) fn start(url: &str, typed: &str) -> Self {
        Self::start_in(Place::new(), url, typed)
    }

    /// Starts one that runs this plan.
    pub(crate) fn planned(url: &str, plan: &str, typed: &str) -> Self {
        let place = Place::new();
        let plan = place.file("plan.toml", plan);
        Self::start_in(place, url, &format!("--plan {plan} {typed}"))
    }

    fn start_in(place: Place, url: &str, typed: &str) -> Self {
        let args: Vec<&str> = ["--headless", "--endpoint-url", url].into_iter().chain(typed.split_whitespace()).collect();
        let program = Program::without_screen(&place, &args);
        Self { place, program }
    }

    /// Stops the client amid the load; how long it stood still in fact.
    pub(crate) fn stand_still(&self, wanted: Duration) -> Duration {
        self.program.see("accepted");
        let begun = Instant::now();
        self.program.signal(Signal::STOP);
        std::thread::sleep(wanted);
        self.program.signal(Signal::CONT);
        begun.elapsed()
    }

    /// Its document, once it has ended in order, with all its ledgers balanced.
    pub(crate) fn end(mut self) -> Value {
        let ended = self.program.end();
        assert_eq!(ended.code, 0, "{}", ended.said);
        let document = self.place.document();
        assert_eq!(document["session"]["state"], "finished", "{}", ended.said);
        let windows = document["windows"].as_array().expect("windows");
        for ledger in windows.iter().chain([&document["totals"]]) {
            let outcomes = ["accepted", "throttled", "failed", "timed_out", "shed", "in_flight"].map(|name| count(ledger, name));
            assert_eq!(outcomes.iter().sum::<u64>(), count(ledger, "offered"), "{ledger}");
            assert_eq!(count(ledger, "sent") + count(ledger, "shed"), count(ledger, "offered"), "{ledger}");
        }
        document
    }
}

/// What depends on real time holds when this machine lets it run, which one of three attempts must show.
pub(crate) fn undisturbed(attempt: impl Fn()) {
    for left in [2, 1, 0] {
        match catch_unwind(AssertUnwindSafe(&attempt)) {
            Ok(()) => return,
            Err(why) if left == 0 => resume_unwind(why),
            Err(_) => writeln!(std::io::stderr(), "again, in case this machine stood still: {left} attempts left").expect("standard error"),
        }
    }
}

/// A count.
pub(crate) fn count(ledger: &Value, name: &str) -> u64 {
    ledger[name].as_u64().unwrap_or_else(|| panic!("no count {name}: {ledger}"))
}

/// A figure in milliseconds, by its place in the window.
pub(crate) fn ms(window: &Value, path: &str) -> f64 {
    window.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no figure {path}: {window}"))
}

/// The full distribution that the window keeps under this name, in microseconds.
pub(crate) fn distribution(window: &Value, name: &str) -> Histogram<u64> {
    let text = window["histograms_v2_base64"][name].as_str().unwrap_or_else(|| panic!("no histogram {name}"));
    let bytes = base64::prelude::BASE64_STANDARD.decode(text).expect("base64");
    Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram")
}

/// Whether the document distrusts the window's figures for this reason.
pub(crate) fn has_caveat(window: &Value, named: &str) -> bool {
    window["caveats"].as_array().is_some_and(|caveats| caveats.iter().any(|caveat| caveat == named))
}
