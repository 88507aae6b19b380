//! The verdict: what this machine can hold from here, whether that is what the plan asks, and what to change if not.

use std::time::Duration;

use super::calibration::{Calibration, Elsewhere};
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
    pub const fn elsewhere(&self) -> Elsewhere {
        if self.simulated { Elsewhere::Here } else { Elsewhere::Away }
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
                self.build()
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
                self.build()
            );
        }
        let here = if self.target.simulated { ", of which the simulated endpoint takes its part" } else { "" };
        format!("these cores cannot send that much{here}; lower the rates, or use a machine with more cores{}", self.build())
    }

    /// What a debug build costs.
    fn build(&self) -> &'static str {
        if cfg!(debug_assertions) { " (this is a debug build; a release build sends several times as much)" } else { "" }
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

/// The round trip that a plan's connections are reckoned with.
pub fn need(host: &Host, target: &Target, distance: &Distance, peak: Rate, max_in_flight: u32) -> Need {
    let round_trip = distance.round_trip.unwrap_or(Duration::ZERO);
    Need {
        connections: need::connections(peak, round_trip),
        max_in_flight,
        open_files_allow: host.open_files.connections(target.simulated),
    }
}
