//! Documents of stories, for the renderings.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test binary uses its part of it")]

use throttlescope::analysis::{Caveat, VerdictKind};
use throttlescope::load::Op;
use throttlescope::report::document::{Claim, KeyCounts, UnitsPerS};
use throttlescope::report::facts::TargetFacts;
use throttlescope::report::{Document, Entry, Recording, document};

use super::bench::{Bench, Client};
use super::story;

/// The plan `ceiling` on a fresh simulated table.
pub fn whole() -> Document {
    document(&story::told(&story::whole_session(), 242))
}

/// A session on AWS that failed.
pub fn failed() -> Document {
    document(&story::told(&story::failed_session(), 21))
}

/// A session whose client sent only part of what was due.
pub fn client_bound() -> Document {
    let mut bench = Bench::fresh_table(9);
    bench.journals = true;
    bench.entries.extend([story::start(), Entry::Target(story::simulated_target())]);
    bench.pause(8);
    let id = bench.open(3_000.0, None);
    bench.run(id, 3_000.0, 12, Client { shed: 0.2, ..Client::default() });
    let written = document(&story::told(&bench.entries, 21));
    assert_eq!(written.verdict.kind, VerdictKind::ClientBound);
    assert!(written.verdict.caveats.contains(&Caveat::ClientSaturated));
    written
}

/// A session that ended before it opened a window.
pub fn nothing() -> Document {
    let recording = Recording { target: TargetFacts { simulated: true, ..TargetFacts::default() }, ..Recording::default() };
    let mut written = document(&recording);
    written.session.started_at = "2026-09-01T12:00:00Z".to_owned();
    written
}

/// A session with all that plans can ask for: a ramp, mixed load, items and keys of a window's own, a hot key, and a service
/// that changes its mind about the table.
pub fn varied() -> Document {
    let mut written = whole();
    let claim = |at_s: f64, last_s: f64, write| Claim {
        at_s: at_s.into(),
        last_s: last_s.into(),
        status: "ACTIVE".to_owned(),
        warm_throughput: Some(UnitsPerS { write_units_per_s: write, read_units_per_s: 12_000 }),
        max_units: None,
        billing_mode: "on-demand".to_owned(),
    };
    written.target.claims = vec![claim(7.4, 120.0, 4_000), claim(135.0, 240.0, 5_000)];
    written.target.max_units = Some(UnitsPerS { write_units_per_s: 6_000, read_units_per_s: 6_000 });
    written.windows[0].offered_to_per_s = 3_000.0.into();
    written.windows[5].keys = Some("hot".to_owned());
    written.windows[5].hottest_key = Some(KeyCounts { accepted: 30_000, throttled: written.windows[5].counts.throttled / 2 });
    written
}

/// The same with items of another size in one window, and mixed load in the last two.
pub fn mixed() -> Document {
    let mut written = varied();
    written.windows[2].item_bytes = Some(4_000);
    written.windows[2].consumed_units = 360_000.0.into();
    let (start, of) = (written.windows[5].start_s, written.windows[5].index);
    written.windows[6].start_s = start;
    written.windows[6].op = Op::Read;
    written.windows[6].beside = Some(of);
    written.windows[5].beside = Some(6);
    written
}

/// A session whose every text wants to be more than text.
pub fn hostile() -> Document {
    let bad = "<script>alert(1)</script> | `x` [a](javascript:1) https://evil.example \u{1b}[2J\r\n\u{202e}\u{200b} & \"q\" 'q'";
    let mut written = whole();
    written.failures = failed().failures;
    for text in [
        &mut written.session.id,
        &mut written.target.table,
        &mut written.target.region,
        &mut written.target.endpoint,
        &mut written.target.billing_mode,
        &mut written.workload.keys,
        &mut written.tool.version,
        &mut written.tool.client,
        &mut written.throttles[0].code,
        &mut written.failures[0].message,
        &mut written.events[0].detail,
        &mut written.verdict.evidence[0],
        &mut written.windows[1].label,
    ] {
        bad.clone_into(text);
    }
    written.failures[0].code = Some(bad.to_owned());
    written.throttles[0].message = format!("{bad} ````\n# not a heading");
    written.throttles[0].reasons = vec![bad.to_owned()];
    written.windows[1].evidence = vec![bad.to_owned()];
    written.throttles[0].resource = Some(bad.to_owned());
    written.session.stop_reason = Some(bad.to_owned());
    if let Some(plan) = &mut written.plan {
        bad.clone_into(&mut plan.name);
    }
    written.windows[0].label = "=cmd|'/c calc'!A0, \"quoted\"".to_owned();
    written.windows[0].op = Op::Read;
    written
}
