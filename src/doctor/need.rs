//! The connections that a rate needs: one request at a time is on each, so rate times round trip, with headroom.

use std::time::Duration;

use crate::load::Rate;

/// A service answers writes no sooner than this, however near it is.
pub const SHORTEST_ROUND_TRIP: Duration = Duration::from_millis(10);
/// The largest in-flight cap that can be asked for.
pub const MOST_IN_FLIGHT: u32 = 65_536;
/// Room for round trips that take longer than the usual one.
pub const HEADROOM: f64 = 1.5;

/// What a rate needs of connections, and what there may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// Connections that the rate needs.
    pub connections: u32,
    /// Most requests in flight, which is most connections.
    pub max_in_flight: u32,
    /// Connections that the open-file limit allows, where it is known.
    pub open_files_allow: Option<u32>,
}

impl Need {
    /// Connections there may be.
    pub fn allowed(&self) -> u32 {
        self.open_files_allow.map_or(self.max_in_flight, |allow| allow.min(self.max_in_flight))
    }

    /// What to change where there may not be enough connections: a sentence that says what to type.
    pub fn shortfall(&self) -> Option<String> {
        let needed = self.connections;
        match self.open_files_allow {
            Some(allow) if allow < needed => Some(format!(
                "it needs {needed} connections, and the open-file limit allows {allow}; raise `ulimit -n`, lower the rates, or move closer to the endpoint"
            )),
            _ if self.max_in_flight < needed && needed > MOST_IN_FLIGHT => Some(format!(
                "it needs {needed} connections, and at most {MOST_IN_FLIGHT} requests may be in flight from one process; lower the rates, or move closer to the endpoint"
            )),
            _ if self.max_in_flight < needed => Some(format!(
                "it needs {needed} connections, and at most {} requests may be in flight; type --max-in-flight {needed}, lower the rates, or move closer to the endpoint",
                self.max_in_flight
            )),
            _ => None,
        }
    }
}

/// The round trip that is reckoned with.
pub fn reckoned(round_trip: Duration) -> Duration {
    round_trip.max(SHORTEST_ROUND_TRIP)
}

/// Connections that a rate needs at a round trip; at least one.
pub fn connections(rate: Rate, round_trip: Duration) -> u32 {
    ((rate.per_s() * reckoned(round_trip).as_secs_f64() * HEADROOM).ceil() as u32).max(1)
}

/// The highest rate that so many connections hold at a round trip, operations/s.
pub fn rate_of(connections: u32, round_trip: Duration) -> f64 {
    f64::from(connections) / (reckoned(round_trip).as_secs_f64() * HEADROOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_its_round_trip_in_connections_and_half_as_many_again() {
        assert_eq!(connections(Rate::per_second(2_000), Duration::from_millis(100)), 300);
        assert_eq!(connections(Rate::per_second(8_000), Duration::from_micros(200)), 120);
        assert_eq!(connections(Rate::MIN, Duration::ZERO), 1);
        let rate = rate_of(300, Duration::from_millis(100));
        assert!((rate - 2_000.0).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn a_shortfall_names_what_binds() {
        let need = Need { connections: 300, max_in_flight: 4_096, open_files_allow: Some(500) };
        assert_eq!((need.shortfall(), need.allowed()), (None, 500));
        let said = Need { max_in_flight: 100, ..need }.shortfall().expect("too few");
        assert!(said.contains("type --max-in-flight 300"), "{said}");
        let far = Need { connections: 70_000, open_files_allow: None, ..need }.shortfall().expect("too few");
        assert!(!far.contains("--max-in-flight") && far.contains("lower the rates"), "{far}");
        let said = Need { open_files_allow: Some(50), max_in_flight: 50, ..need }.shortfall().expect("too few");
        assert!(said.contains("raise `ulimit -n`"), "{said}");
    }
}
