//! This machine and its way to the endpoint, as found before the load started: the same value in journal, recording and
//! document.

use serde::{Deserialize, Serialize};

use super::figures::{millis, rate, whole};
use super::finite::Finite;

/// What was found. Null stands for what is not known, or has no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Cores that the process may run on.
    pub cores: u32,
    /// CPU time that its control group may take, in cores; null without a quota.
    pub cpu_quota_cores: Finite,
    /// Load average of the last minute.
    pub load_average_1min: Finite,
    /// Files that may be open at once.
    pub open_files: Option<u64>,
    /// As far as that limit could be raised.
    pub open_files_hard: Option<u64>,
    /// Median round trip of DescribeTable requests, without connecting.
    pub round_trip_ms: Finite,
    /// The shortest of them.
    pub round_trip_min_ms: Finite,
    /// How many were answered.
    pub round_trips: u32,
    /// Time to connect, TLS included.
    pub connect_ms: Finite,
    /// The service's clock less this machine's, from the `Date` of replies.
    pub clock_offset_ms: Finite,
    /// The true offset lies within this of `clock_offset_ms`.
    pub clock_offset_uncertainty_ms: Finite,
    /// Why the offset is not known.
    pub clock_trouble: Option<String>,
    /// The highest rate that is asked for at the start, operations/s.
    pub asked_per_s: Finite,
    /// Connections that this rate needs at this round trip, with headroom.
    pub connections_needed: Option<u32>,
    /// Connections that the in-flight cap and the open-file limit allow.
    pub connections_allowed: u32,
}

impl Host {
    /// One line of the summary.
    pub(super) fn in_words(&self) -> String {
        let mut parts = vec![format!("{} {}", self.cores, if self.cores == 1 { "core" } else { "cores" })];
        if let Some(quota) = self.cpu_quota_cores.get() {
            parts.push(format!("CPU quota of {quota:.2} cores"));
        }
        if self.round_trip_ms.get().is_some() {
            parts.push(format!(
                "round trip {} ms (least {} of {})",
                millis(self.round_trip_ms.get()),
                millis(self.round_trip_min_ms.get()),
                whole(Some(f64::from(self.round_trips)))
            ));
        }
        if self.connect_ms.get().is_some() {
            parts.push(format!("connecting {} ms", millis(self.connect_ms.get())));
        }
        match (self.clock_offset_ms.get(), self.clock_offset_uncertainty_ms.get(), &self.clock_trouble) {
            (Some(offset), Some(either_way), _) => {
                let side = if offset < 0.0 { "behind" } else { "ahead" };
                parts.push(format!("the service's clock {:.1} ms {side}, +/- {either_way:.1} ms", offset.abs()));
            }
            (.., Some(trouble)) => parts.push(format!("clock offset not known: {trouble}")),
            _ => {}
        }
        if let Some(needed) = self.connections_needed {
            parts.push(format!(
                "{}/s needs {} of {} connections",
                rate(self.asked_per_s.get()),
                whole(Some(f64::from(needed))),
                whole(Some(f64::from(self.connections_allowed)))
            ));
        }
        parts.join("; ")
    }
}
