//! Calibration: what one request costs this client in CPU time, and the largest rate at which it keeps its schedule, by
//! short bursts of the real load engine and the real data-plane client.

use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::endpoint::NullEndpoint;
use super::host::{Host, MachineTime};
use crate::load::{Clock, Counts, Engine, EngineConfig, Latency, Offset, Op, Rate, Report, SegmentLoad, TICK, Tick, WindowId, Workload};

/// Part of a core that a shard may use and still keep its schedule: the rest is for what comes unevenly.
pub(super) const USABLE: f64 = 0.7;
/// The rate at which the cost of a request is measured first, operations/s.
const FIRST: f64 = 4_000.0;
/// What precedes the part of a burst that is measured.
const SETTLE: Duration = Duration::from_millis(200);
/// The part of a burst that is measured.
const MEASURED: Duration = Duration::from_millis(500);
/// Bursts after the first.
const MOST_BURSTS: usize = 4;
/// A burst for a rate that is not this much higher than one that held is not worth its time.
const WORTH: f64 = 1.15;
/// As the verdict of a session has it: so many intents shed or sent late, and the client is at fault.
const UNCLEAN: f64 = 0.005;
/// Connections of the calibration.
const CONNECTIONS: u32 = 64;
const IN_FLIGHT: u32 = 1_024;
const TIMEOUT: Duration = Duration::from_secs(2);
/// Waiting for ticks beyond the end of a burst.
const GRACE: Duration = Duration::from_secs(3);

/// What one burst showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Burst {
    /// Its rate, operations/s.
    pub offered_per_s: f64,
    /// Its ledger.
    pub counts: Counts,
    /// CPU time of the shards' threads per request sent, nanoseconds; `None` where nothing was sent.
    pub client_nanos: Option<f64>,
    /// CPU time of the endpoint's process per request, nanoseconds.
    pub endpoint_nanos: Option<f64>,
    /// 99th percentile of `sent - intended`, milliseconds.
    pub schedule_error_p99_ms: Option<f64>,
}

impl Burst {
    /// Whether the client kept its schedule: everything was offered, under 0.5 % of it shed or sent late, none failed.
    pub fn is_clean(&self) -> bool {
        let counts = &self.counts;
        let due = self.offered_per_s * MEASURED.as_secs_f64();
        let faults = (counts.shed + counts.late) as f64;
        counts.offered as f64 >= due * 0.98 && faults < UNCLEAN * counts.offered as f64 && counts.failed + counts.timed_out == 0
    }
}

/// What calibration showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Load threads.
    pub shards: u32,
    /// All bursts, in order.
    pub bursts: Vec<Burst>,
    /// The largest rate that held, and that the cores bear by its cost, operations/s; `None` when no burst was clean.
    pub holds_per_s: Option<f64>,
    /// The largest rate that the cores bear by what a request costs, whether or not it held, operations/s.
    pub bears_per_s: f64,
    /// Index of the clean burst at the highest rate.
    pub(super) best: Option<usize>,
    /// Share of the machine's time that the hypervisor gave to others meanwhile, 0 to 1.
    pub stolen: Option<f64>,
}

impl Calibration {
    /// The clean burst at the highest rate.
    pub fn best(&self) -> Option<&Burst> {
        self.best.and_then(|at| self.bursts.get(at))
    }

    /// CPU time per request in the best burst, or the first one, nanoseconds: of the client and of the endpoint.
    pub fn costs(&self) -> (Option<f64>, Option<f64>) {
        let burst = self.best().or(self.bursts.first());
        (burst.and_then(|burst| burst.client_nanos), burst.and_then(|burst| burst.endpoint_nanos))
    }
}

/// Where the load goes once it is real: the simulated endpoint takes its CPU time from the same cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// It does.
    Here,
    /// Another machine, or another process that is not reckoned with.
    Away,
}

/// The rate that cores hold at a cost: no shard above [`USABLE`] of a core, and no more cores than there are.
fn reckoned(host: &Host, shards: u32, target: Whereabouts, client_nanos: f64, endpoint_nanos: Option<f64>) -> f64 {
    let cores = host.usable_cores();
    let away = USABLE * cores.min(f64::from(shards)) * 1e9 / client_nanos;
    match (target, endpoint_nanos) {
        // The endpoint has one thread.
        (Whereabouts::Here, Some(endpoint)) => {
            away.min(USABLE * cores * 1e9 / (client_nanos + endpoint)).min(USABLE * 1e9 / endpoint.max(1.0))
        }
        _ => away,
    }
}

/// Measures on this machine. `asked_per_s` is tried as well where more does not hold. The error is a clause.
pub async fn calibrate(
    endpoint: &NullEndpoint,
    host: &Host,
    shards: u32,
    workload: Workload,
    late_limit: Duration,
    target: Whereabouts,
    asked_per_s: f64,
) -> Result<Calibration, String> {
    let load = endpoint.target(&workload);
    let config = EngineConfig {
        shards,
        max_in_flight: IN_FLIGHT.max(shards),
        timeout: TIMEOUT,
        late_limit,
        max_ops: None,
        workload,
        waited: super::run_queue::waited_nanos,
    };
    let clock = Clock::start();
    let (engine, mut reports) =
        Engine::start(&config, clock, |_| load.clone()).map_err(|e| format!("cannot start the load threads: {e}"))?;
    let before = MachineTime::now();
    let mut range = Range { engine, clock, endpoint, next_window: 0 };
    range.warm(&mut reports).await;
    let measured = find(&mut range, &mut reports, host, shards, target, asked_per_s).await;
    range.engine.abandon();
    let (bursts, best) = measured?;
    let bears = |burst: &Burst| Some(reckoned(host, shards, target, burst.client_nanos?, burst.endpoint_nanos));
    let holds_per_s = best.and_then(|at| bursts.get(at)).and_then(|burst| Some(burst.offered_per_s.min(bears(burst)?)));
    let bears_per_s = bursts.iter().filter_map(bears).fold(0.0, f64::max);
    let stolen = MachineTime::now().stolen_since(before);
    Ok(Calibration { shards: range.engine.shards(), bursts, holds_per_s, bears_per_s, best, stolen })
}

/// Bursts at rising, or falling, rates. Gives all of them, and the index of the best clean one.
async fn find(
    range: &mut Range<'_>,
    reports: &mut Receiver<Report>,
    host: &Host,
    shards: u32,
    target: Whereabouts,
    asked_per_s: f64,
) -> Result<(Vec<Burst>, Option<usize>), String> {
    let first = range.burst(FIRST, reports).await?;
    let cost = first.client_nanos.ok_or("no request could be sent")?;
    let mut rate = reckoned(host, shards, target, cost, first.endpoint_nanos);
    let mut best = first.is_clean().then_some(0);
    let mut bursts = vec![first];
    let mut asked_is_open = true;
    for _ in 0..MOST_BURSTS {
        let burst = range.burst(rate, reports).await?;
        let held = best.and_then(|at: usize| bursts.get(at)).map_or(0.0, |burst: &Burst| burst.offered_per_s);
        let (clean, cost, served) = (burst.is_clean(), burst.client_nanos, burst.endpoint_nanos);
        if clean && rate > held {
            best = Some(bursts.len());
        }
        bursts.push(burst);
        let held = if clean { held.max(rate) } else { held };
        asked_is_open &= rate > asked_per_s;
        rate = if clean {
            let higher = cost.map_or(0.0, |cost| reckoned(host, shards, target, cost, served));
            if higher < held * WORTH {
                break;
            }
            higher
        } else if asked_is_open && asked_per_s > held {
            asked_per_s
        } else if rate / 2.0 > held * WORTH {
            rate / 2.0
        } else {
            break;
        };
    }
    Ok((bursts, best))
}

/// Where bursts are fired.
struct Range<'a> {
    engine: Engine,
    clock: Clock,
    endpoint: &'a NullEndpoint,
    next_window: u32,
}

impl Range<'_> {
    async fn warm(&self, reports: &mut Receiver<Report>) {
        self.engine.warm(CONNECTIONS);
        let (mut open, bound) = (0, Instant::now() + GRACE);
        while open < self.engine.shards() {
            match timeout_at(bound, reports.recv()).await {
                Ok(Some(Report::Warmed { .. })) => open += 1,
                Ok(Some(_)) => {}
                // The burst opens what is missing.
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Offers a rate for [`SETTLE`] and then for [`MEASURED`], both on the grid of the ticks.
    async fn burst(&mut self, per_s: f64, reports: &mut Receiver<Report>) -> Result<Burst, String> {
        let rate = Rate::from_per_s(per_s).map_err(|e| e.to_string())?;
        let start = self.engine.soonest().ceil_to(TICK);
        let (from, to) = (start.plus(SETTLE), start.plus(SETTLE + MEASURED));
        let (settling, measured) = (WindowId(self.next_window), WindowId(self.next_window + 1));
        self.next_window += 2;
        for (at, window) in [(start, settling), (from, measured)] {
            self.engine.schedule(at, Some(SegmentLoad::steady(window, rate, Op::Write)));
        }
        self.engine.schedule(to, None);
        let mut tally = Tally::new(measured, from, to);
        let mut served = (None, None);
        self.absorb_until(from, reports, &mut tally).await?;
        served.0 = self.endpoint.cpu_nanos();
        self.absorb_until(to, reports, &mut tally).await?;
        served.1 = self.endpoint.cpu_nanos();
        // The ticks of the end, and the last answers.
        let bound = self.clock.instant(to.plus(GRACE));
        while tally.shards_done < self.engine.shards() || tally.counts.open() > 0 {
            match timeout_at(bound, reports.recv()).await {
                Ok(report) => tally.take(report)?,
                Err(_) => break,
            }
        }
        let sent = tally.counts.sent() as f64;
        let per_request = |nanos: u64| (sent > 0.0).then(|| nanos as f64 / sent);
        let endpoint = served.1.zip(served.0).and_then(|(after, before)| per_request(after.saturating_sub(before)));
        Ok(Burst {
            offered_per_s: rate.per_s(),
            counts: tally.counts,
            client_nanos: per_request(tally.cpu_nanos),
            endpoint_nanos: endpoint,
            schedule_error_p99_ms: tally.schedule_error.quantile_ms(0.99),
        })
    }

    async fn absorb_until(&self, at: Offset, reports: &mut Receiver<Report>, tally: &mut Tally) -> Result<(), String> {
        let until = sleep_until(self.clock.instant(at));
        tokio::pin!(until);
        loop {
            tokio::select! {
                () = &mut until => return Ok(()),
                report = reports.recv() => tally.take(report)?,
            }
        }
    }
}

/// What is counted of one burst.
struct Tally {
    window: WindowId,
    from: Offset,
    to: Offset,
    counts: Counts,
    cpu_nanos: u64,
    schedule_error: Latency,
    shards_done: u32,
}

impl Tally {
    fn new(window: WindowId, from: Offset, to: Offset) -> Self {
        Self { window, from, to, counts: Counts::default(), cpu_nanos: 0, schedule_error: Latency::default(), shards_done: 0 }
    }

    fn take(&mut self, report: Option<Report>) -> Result<(), String> {
        match report {
            Some(Report::Tick(tick)) => self.absorb(&tick),
            Some(Report::Ended { fault: Some(fault), .. }) => return Err(fault),
            Some(_) => {}
            None => return Err("every load thread has ended".to_owned()),
        }
        Ok(())
    }

    fn absorb(&mut self, tick: &Tick) {
        if tick.from >= self.from && tick.to <= self.to {
            self.cpu_nanos += tick.cpu_nanos;
        }
        // Only the tick that reaches beyond the end, once per shard.
        self.shards_done += u32::from(tick.from <= self.to && tick.to > self.to);
        for part in tick.parts.iter().filter(|part| part.window == self.window) {
            self.counts.add(&part.counts);
            self.schedule_error.merge(&part.schedule_error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::OpenFiles;

    #[test]
    fn a_rate_is_reckoned_from_seven_tenths_of_a_core_per_shard_and_the_cores_there_are() {
        let host = Host { cores: 4, quota_cores: None, load_average: None, open_files: OpenFiles { soft: None, hard: None } };
        let held = |host: &Host, shards, target| reckoned(host, shards, target, 35_000.0, Some(70_000.0)).round() as u64;
        assert_eq!(held(&host, 1, Whereabouts::Away), 20_000);
        assert_eq!(held(&host, 3, Whereabouts::Away), 60_000);
        assert_eq!(held(&host, 9, Whereabouts::Away), 80_000, "no more cores than there are");
        assert_eq!(held(&Host { quota_cores: Some(0.5), ..host }, 3, Whereabouts::Away), 10_000);
        assert_eq!(held(&host, 3, Whereabouts::Here), 10_000, "the simulated endpoint has one thread");
        assert_eq!(held(&Host { cores: 1, ..host }, 3, Whereabouts::Here), 6_667, "and shares the only core");
    }

    #[test]
    fn a_burst_that_shed_ran_late_fell_short_or_failed_is_not_clean() {
        let counts = Counts { offered: 500, accepted: 500, ..Counts::default() };
        let burst = Burst { offered_per_s: 1_000.0, counts, client_nanos: None, endpoint_nanos: None, schedule_error_p99_ms: None };
        let clean = |counts| Burst { counts, ..burst.clone() }.is_clean();
        assert!(clean(counts));
        assert!(clean(Counts { late: 2, ..counts }));
        assert!(!clean(Counts { late: 3, ..counts }));
        assert!(!clean(Counts { shed: 3, accepted: 497, ..counts }));
        assert!(!clean(Counts { failed: 1, accepted: 499, ..counts }));
        assert!(!clean(Counts { offered: 400, accepted: 400, ..counts }));
    }
}
