//! The verdict: what this machine can hold from here, whether that is what the plan asks, and what to change if not.

use std::time::Duration;

use super::calibration::{Calibration, Whereabouts};
use super::clock::ClockOffset;
use super::distance::Distance;
use super::host::Host;
use super::need::{self, Need};
use crate::load::{Op, Rate};

/// The service refuses signatures of a clock that is this far off, nanoseconds.
const CLOCK_REFUSED: i128 = 300_000_000_000;
/// Rates are compared to this part of themselves: they pass through whole thousandths of an operation per second.
pub(super) const SAME: f64 = 0.999;

/// What is asked of this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Name of the plan.
    pub plan: String,
    /// Its highest rate.
    pub peak: Rate,
    /// The operation at that rate.
    pub op: Op,
    /// Item size in bytes.
    pub item_bytes: u32,
    /// Load threads.
    pub shards: u32,
}

/// What is to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `embedded`, `aws` or `endpoint`.
    pub kind: &'static str,
    /// Its effective URL, account ids masked.
    pub endpoint: String,
    /// Region that requests are signed for.
    pub region: String,
    /// Whether the simulated endpoint answers, from this process.
    pub simulated: bool,
}

impl Target {
    /// Whether it takes CPU time from the same cores.
    pub const fn whereabouts(&self) -> Whereabouts {
        if self.simulated { Whereabouts::Here } else { Whereabouts::Away }
    }
}

/// Everything that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Examination {
    /// What is asked.
    pub asked: Asked,
    /// Of which target.
    pub target: Target,
    /// This machine.
    pub host: Host,
    /// The way to the endpoint.
    pub distance: Distance,
    /// Connections.
    pub need: Need,
    /// The client on this machine; the error is a clause that says why it is not known.
    pub calibration: Result<Calibration, String>,
}

/// What it comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The rate that this machine holds from here, operations/s; `None` where it could not be measured.
    pub holds_per_s: Option<f64>,
    /// Whether it can measure what is asked.
    pub can: bool,
    /// What stands in the way and what to change, sentences.
    pub changes: Vec<String>,
}

impl Examination {
    /// What it comes to.
    pub fn verdict(&self) -> Verdict {
        let mut changes = Vec::new();
        if let Err(why) = self.distance.endpoint_answers() {
            let url = if self.target.kind == "endpoint" { "--endpoint-url" } else { "the network, --region and --profile" };
            changes.push(format!("the endpoint does not answer as DynamoDB does: {why}; check {url}"));
        }
        changes.extend(self.clock_is_refused());
        let asked = self.asked.peak.per_s();
        let cpu = self.calibration.as_ref().ok().and_then(|calibration| calibration.holds_per_s);
        let bears = self.calibration.as_ref().map_or(0.0, |calibration| calibration.bears_per_s);
        match &self.calibration {
            Err(why) => changes.push(format!("the client could not be measured: {why}; run doctor again")),
            Ok(_) if cpu.is_none() => changes.push(format!(
                "the client kept its schedule at no rate that was tried; let other work on this machine end{}, then run doctor again",
                build()
            )),
            Ok(_) if cpu.is_some_and(|cpu| cpu < asked * SAME) && bears >= asked => changes.push(
                "by what a request costs the cores bear the plan, but the client did not keep its schedule at it; let other work on this machine end, then run doctor again, or lower the rates".to_owned(),
            ),
            Ok(_) if cpu.is_some_and(|cpu| cpu < asked * SAME) => changes.push(self.more_cpu()),
            Ok(_) => {}
        }
        changes.extend(self.need.shortfall());
        let round_trip = self.distance.round_trip;
        let connections = round_trip.map(|trip| need::rate_of(self.need.allowed(), trip));
        let holds_per_s = cpu.zip(connections).map(|(cpu, connections)| cpu.min(connections));
        Verdict { holds_per_s, can: changes.is_empty(), changes }
    }

    fn more_cpu(&self) -> String {
        let (shards, usable) = (self.asked.shards, self.host.usable_cores().floor() as u32);
        if shards < usable {
            return format!(
                "{shards} load thread{} cannot send that much; type --shards {usable}, or lower the rates{}",
                if shards == 1 { "" } else { "s" },
                build()
            );
        }
        let here = if self.target.simulated { ", of which the simulated endpoint takes its part" } else { "" };
        format!("these cores cannot send that much{here}; lower the rates, or use a machine with more cores{}", build())
    }

    fn clock_is_refused(&self) -> Option<String> {
        let ClockOffset::Within { low, high } = self.distance.clock.offset() else { return None };
        let off = low > CLOCK_REFUSED || high < -CLOCK_REFUSED;
        (off && !self.target.simulated).then(|| {
            format!(
                "this machine's clock is {} s off, and the service refuses signatures that are 5 min off; set the clock",
                (low / 1_000_000_000).abs()
            )
        })
    }
}

/// What a debug build costs.
fn build() -> &'static str {
    if cfg!(debug_assertions) { " (this is a debug build; a release build sends several times as much)" } else { "" }
}

/// The connections that a peak rate needs at the distance that was found, and those there may be.
pub fn need(host: &Host, target: &Target, distance: &Distance, peak: Rate, max_in_flight: u32) -> Need {
    let round_trip = distance.round_trip.unwrap_or(Duration::ZERO);
    Need {
        connections: need::connections(peak, round_trip),
        max_in_flight,
        open_files_allow: host.open_files.connections(target.simulated),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::doctor::{Burst, Dated, OpenFiles, text};
    use crate::load::Counts;

    fn burst(offered_per_s: f64, late: u64) -> Burst {
        let offered = (offered_per_s / 2.0) as u64;
        Burst {
            offered_per_s,
            counts: Counts { offered, accepted: offered, late, ..Counts::default() },
            client_nanos: Some(35_000.0),
            endpoint_nanos: Some(20_000.0),
            schedule_error_p99_ms: Some(0.9),
        }
    }

    /// A machine of two cores that holds 20,000/s, 2 ms from AWS.
    fn example() -> Examination {
        let mut distance = Distance {
            round_trips: 40,
            round_trip: Some(Duration::from_millis(2)),
            round_trip_min: Some(Duration::from_micros(1_500)),
            answer: Some((400, Some("ResourceNotFoundException".to_owned()))),
            ..Distance::default()
        };
        let sent = UNIX_EPOCH + Duration::from_millis(1_800_000_000_500);
        distance.clock.take(Dated { sent, received: sent + Duration::from_millis(2), date_s: 1_800_000_000 });
        let bursts = vec![burst(4_000.0, 0), burst(20_000.0, 0)];
        let calibration =
            Calibration { shards: 1, bursts, holds_per_s: Some(20_000.0), bears_per_s: 20_000.0, best: Some(1), stolen: None };
        Examination {
            asked: Asked { plan: "ceiling".to_owned(), peak: Rate::per_second(8_000), op: Op::Write, item_bytes: 1_000, shards: 1 },
            target: Target {
                kind: "aws",
                endpoint: "https://dynamodb.eu-north-1.amazonaws.com".to_owned(),
                region: "eu-north-1".to_owned(),
                simulated: false,
            },
            host: Host { cores: 2, quota_cores: None, load_average: None, open_files: OpenFiles { soft: Some(1_024), hard: Some(4_096) } },
            distance,
            need: Need { connections: 120, max_in_flight: 960, open_files_allow: Some(960) },
            calibration: Ok(calibration),
        }
    }

    fn flowed(found: &Examination) -> String {
        let page = text(found);
        assert!(page.lines().all(|line| line.len() <= 80), "{page}");
        assert!(page.bytes().all(|b| b == b'\n' || (0x20..0x7f).contains(&b)), "{page}");
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_machine_that_can_is_told_so_in_one_sentence() {
        let found = example();
        assert_eq!(found.verdict(), Verdict { holds_per_s: Some(20_000.0), can: true, changes: vec![] });
        let said = flowed(&found);
        assert!(said.ends_with("OK: this machine can hold 20,000/s from here; the plan asks 8,000/s."), "{said}");
        assert!(!said.contains("SIMULATED"), "{said}");
    }

    #[test]
    fn a_rate_beyond_the_threads_asks_for_more_threads_and_beyond_the_cores_for_fewer_requests() {
        let mut found = example();
        found.asked.peak = Rate::per_second(30_000);
        let said = found.verdict();
        assert!(!said.can && said.changes[0].contains("type --shards 2"), "{said:?}");
        assert!(flowed(&found).contains("NOT ENOUGH: this machine can hold 20,000/s from here; the plan asks 30,000/s."));
        found.asked.shards = 2;
        assert!(found.verdict().changes[0].contains("more cores"), "{:?}", found.verdict());
    }

    #[test]
    fn a_machine_that_is_busy_is_told_from_one_that_is_too_small() {
        let mut found = example();
        found.calibration = found.calibration.map(|c| Calibration { holds_per_s: Some(4_000.0), best: Some(0), ..c });
        let said = found.verdict();
        assert!(!said.can && said.changes[0].contains("let other work on this machine end"), "{said:?}");
        found.calibration =
            found.calibration.map(|c| Calibration { holds_per_s: None, best: None, bursts: vec![burst(4_000.0, 999)], ..c });
        let said = found.verdict();
        assert!(!said.can && said.holds_per_s.is_none() && said.changes[0].contains("at no rate that was tried"), "{said:?}");
        assert!(flowed(&found).contains("none of 4,000/s: 0 shed, 999 late"), "{}", flowed(&found));
    }

    #[test]
    fn a_far_endpoint_bounds_the_rate_by_its_connections() {
        let mut found = example();
        found.distance.round_trip = Some(Duration::from_millis(100));
        found.need = need(&found.host, &found.target, &found.distance, found.asked.peak, 960);
        let said = found.verdict();
        assert_eq!(said.holds_per_s.map(f64::round), Some(6_400.0));
        assert!(said.changes[0].contains("it needs 1200 connections, and the open-file limit allows 960"), "{said:?}");
    }

    #[test]
    fn a_clock_that_the_service_would_refuse_is_said_before_anything_is_sent() {
        let mut found = example();
        found.distance.clock = crate::doctor::Bracket::default();
        let sent = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        found.distance.clock.take(Dated { sent, received: sent + Duration::from_millis(2), date_s: 1_799_999_000 });
        let said = found.verdict();
        assert!(!said.can && said.changes[0].contains("set the clock"), "{said:?}");
        assert!(flowed(&found).contains("NOT READY: this machine can hold 20,000/s from here; the plan asks 8,000/s."));
        assert!(flowed(&found).contains("behind this machine's"));
    }

    #[test]
    fn an_endpoint_that_is_something_else_is_not_fit_and_its_words_are_harmless() {
        let mut found = example();
        for (answer, part) in [
            (Some((404, None)), "HTTP 404 without an error code"),
            (Some((403, Some("UnrecognizedClientException".to_owned()))), "HTTP 403 (UnrecognizedClientException)"),
            (Some((400, Some("\u{1b}[31m\u{202e}x".repeat(60)))), "HTTP 400 ("),
        ] {
            found.distance.answer = answer;
            assert!(!found.verdict().can && flowed(&found).contains(part), "{}", flowed(&found));
        }
        found.distance = Distance { trouble: Some("no answer".to_owned()), ..Distance::default() };
        assert!(flowed(&found).contains("NOT KNOWN: what this machine can hold from here could not be measured"));
        found.calibration = Err("it did not start".to_owned());
        assert!(flowed(&found).contains("the client could not be measured: it did not start"));
    }
}
