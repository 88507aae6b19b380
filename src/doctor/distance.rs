//! How far away the endpoint is, in time and by the clock: DescribeTable requests, which create and write nothing and are
//! free, sent one after another.

use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::clock::{Bracket, ClockOffset};
use super::probe::{Connected, DateHeader, Probe, Reply};

/// Requests that are sent at least, whatever the hurry.
const FEWEST: u32 = 3;
/// No more than this often in a row may a request go unanswered.
const MOST_FAILURES: u32 = 3;
/// Once the bounds of the clock offset are this much wider than the round trip, aiming is no longer worth the wait.
const AS_NARROW_AS_IT_GETS: f64 = 1.5;
/// Nor when they are this narrow: replies are stamped no better than this.
const NARROW: i128 = 2_000_000;

/// How a survey goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Longest it takes, but for the last request.
    pub within: Duration,
    /// Pause between requests until the second has turned once.
    pub pause: Duration,
    /// How many connections are opened, to time that.
    pub connections: u32,
}

impl Survey {
    /// While a table is created: about a second.
    pub const QUICK: Self = Self { within: Duration::from_millis(1_050), pause: Duration::from_millis(40), connections: 1 };
    /// When nothing waits for it.
    pub const THOROUGH: Self = Self { within: Duration::from_millis(3_200), pause: Duration::from_millis(20), connections: 5 };
}

/// What was found. Durations are absent where no request was answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distance {
    /// Requests that were answered.
    pub round_trips: u32,
    /// Median of their round trips, without connecting.
    pub round_trip: Option<Duration>,
    /// Shortest of them.
    pub round_trip_min: Option<Duration>,
    /// The quickest connect.
    pub connected: Option<Connected>,
    /// Connections that were timed.
    pub connections: u32,
    /// The service's clock.
    pub clock: Bracket,
    /// Replies without a `Date`, and replies whose `Date` does not read.
    pub undated: (u32, u32),
    /// HTTP status and error code of the last answer.
    pub answer: Option<(u16, Option<String>)>,
    /// Why the last request that went unanswered did.
    pub trouble: Option<String>,
}

impl Distance {
    /// Why the clock offset is not known; `None` when it is.
    pub fn clock_trouble(&self) -> Option<String> {
        let (absent, unreadable) = self.undated;
        match self.clock.offset() {
            ClockOffset::Within { .. } => None,
            ClockOffset::Contradictory { by } => Some(format!(
                "replies contradict each other by {:.0} ms: a clock was set meanwhile, or servers whose clocks differ answer",
                (by as f64 / 1e6).max(1.0)
            )),
            ClockOffset::Unknown if unreadable > 0 => Some("the Date header of its replies does not read".to_owned()),
            ClockOffset::Unknown if absent > 0 => Some("its replies have no Date header".to_owned()),
            ClockOffset::Unknown => Some("no request was answered".to_owned()),
        }
    }

    /// Whether the endpoint answers DescribeTable as DynamoDB does. The error says what it does instead.
    pub fn endpoint_answers(&self) -> Result<(), String> {
        match &self.answer {
            None => Err(self.trouble.clone().unwrap_or_else(|| "no request was answered".to_owned())),
            Some((200, _)) => Ok(()),
            Some((_, Some(code))) if matches!(code.as_str(), "ResourceNotFoundException" | "AccessDeniedException") => Ok(()),
            Some((status, code)) => {
                let code = code.as_ref().map_or_else(|| "without an error code of DynamoDB".to_owned(), |code| format!("({code})"));
                Err(format!("it answers DescribeTable with HTTP {status} {code}"))
            }
        }
    }
}

impl Survey {
    /// Asks about `table`, which need not exist, until the time is up, nothing more is to be learnt, or `hurry` turns true.
    /// Never fails: what could not be found out is absent.
    pub async fn run(self, mut probe: Probe, table: &str, mut hurry: watch::Receiver<bool>) -> Distance {
        let begun = Instant::now();
        let mut found = Distance::default();
        let (mut trips, mut failures, mut asked) = (Vec::new(), 0, 0);
        let body = format!("{{\"TableName\":\"{table}\"}}");
        loop {
            if found.connections < self.connections {
                probe.hang_up();
            }
            match probe.ask("DescribeTable", body.clone()).await {
                Ok(reply) => {
                    failures = 0;
                    found.take(&reply, &mut trips);
                }
                Err(why) => {
                    failures += 1;
                    found.trouble = Some(why);
                }
            }
            asked += 1;
            let hurried = *hurry.borrow() && asked >= FEWEST;
            if hurried || failures >= MOST_FAILURES || begun.elapsed() >= self.within {
                break;
            }
            if found.connections < self.connections && failures == 0 {
                continue;
            }
            let Some(wait) = self.wait(&found, trips.last().copied(), begun) else { break };
            tokio::select! {
                () = sleep(wait) => {}
                // A sender that is gone hurries nobody: the pause is kept.
                () = turned(&mut hurry), if asked >= FEWEST => {}
            }
        }
        trips.sort_unstable();
        found.round_trips = trips.len() as u32;
        found.round_trip = trips.get(trips.len() / 2).copied();
        found.round_trip_min = trips.first().copied();
        found
    }

    /// The pause before the next request; `None` when nothing more is to be learnt.
    fn wait(self, found: &Distance, trip: Option<Duration>, begun: Instant) -> Option<Duration> {
        let ClockOffset::Within { low, high } = found.clock.offset() else {
            return Some(self.pause);
        };
        let (width, trip) = (high - low, trip.unwrap_or_default());
        let coarse = (self.pause.as_nanos() + trip.as_nanos()) as i128 * 3 / 2;
        if width > coarse {
            return Some(self.pause);
        }
        if (width as f64) <= trip.as_nanos() as f64 * AS_NARROW_AS_IT_GETS || width <= NARROW {
            return None;
        }
        // A request that would come after the time is up is not waited for.
        let wait = found.clock.aim(SystemTime::now(), trip / 2)?;
        (begun.elapsed() + wait <= self.within).then_some(wait)
    }
}

impl Distance {
    fn take(&mut self, reply: &Reply, trips: &mut Vec<Duration>) {
        trips.push(reply.took);
        if let Some(connected) = reply.connected {
            self.connections += 1;
            if self.connected.is_none_or(|known| connected.total() < known.total()) {
                self.connected = Some(connected);
            }
        }
        match reply.date {
            DateHeader::Absent => self.undated.0 += 1,
            DateHeader::Unreadable => self.undated.1 += 1,
            DateHeader::Says(dated) => self.clock.take(dated),
        }
        self.answer = Some((reply.status, reply.code.clone()));
    }
}

/// Returns once the flag is set; never if nobody can set it any more.
async fn turned(hurry: &mut watch::Receiver<bool>) {
    if hurry.wait_for(|hurry| *hurry).await.is_err() {
        std::future::pending::<()>().await;
    }
}
