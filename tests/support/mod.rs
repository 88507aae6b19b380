//! A small simulator that shares nothing with the analysis: an open loop with random keys against token buckets, counted
//! per second into the load module's own history.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test binary uses its part of it")]

use throttlescope::load::{Bucket, History, Offset, Op, Part, Rate, Refusal, Snapshot, Tally, Units, WindowId, WindowSpec};
use throttlescope::report::Entry;

/// A small generator of uniform numbers (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// A partition: a token bucket and the share of keys that fall into it.
#[derive(Clone, Debug)]
pub struct Partition {
    pub per_s: f64,
    pub holds: f64,
    pub share: f64,
    tokens: f64,
    at: f64,
    pub first_throttle: Option<f64>,
}

impl Partition {
    pub fn new(per_s: f64, burst_s: f64, share: f64) -> Self {
        Self { per_s, holds: per_s * burst_s, share, tokens: per_s * burst_s, at: 0.0, first_throttle: None }
    }
    fn refill(&mut self, at: f64) {
        self.tokens = (self.tokens + (at - self.at) * self.per_s).min(self.holds);
        self.at = at;
    }
    fn takes(&mut self, at: f64) -> bool {
        self.refill(at);
        let takes = self.tokens >= 1.0;
        if takes {
            self.tokens -= 1.0;
        } else {
            self.first_throttle.get_or_insert(at);
        }
        takes
    }
}

/// What becomes of a table under load.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// The partition with the largest share is halved: each half refills as fast as all of it did, and gets half its tokens.
    Split,
    /// Every partition refills this many times as fast from then on.
    Scale(f64),
}

/// A table and the history of the load on it. Windows start on whole seconds.
pub struct Bench {
    pub partitions: Vec<Partition>,
    pub dice: Dice,
    history: History,
    /// The same as a session would journal it.
    pub entries: Vec<Entry>,
    /// Whether buckets are kept in `entries`.
    pub journals: bool,
    now_s: u64,
    windows: u32,
    /// Outcomes that complete in the second after the window's last.
    pending: Vec<Part>,
    /// What becomes of the table, and when, in order.
    pub changes: Vec<(f64, Change)>,
    /// The operation, and the units that each request consumes, in thousandths.
    pub op: Op,
    pub milli_units: u64,
    /// Item size of the next windows, where it is their own.
    pub item_bytes: Option<u32>,
    /// Whether latencies are recorded; without them a request takes a fifth of the time.
    pub records_latency: bool,
    /// The partition whose outcomes are those of the key that is asked for most.
    pub hottest: Option<usize>,
    /// Where the rate of the next window goes, of a ramp.
    pub ramp_to: Option<f64>,
    /// What a refusal says.
    pub refusal: Refusal,
}

/// A span of trouble in a window: from and to, seconds from its start.
pub type Span = (f64, f64);

/// How the client misbehaves in a window.
#[derive(Clone, Copy, Default)]
pub struct Client {
    /// It does not run, so the intents of that span are shed.
    pub stall: Option<Span>,
    /// Share of intents that find the in-flight cap reached.
    pub shed: f64,
    /// Share of requests that time out.
    pub timed_out: f64,
    /// Share of requests that take a quarter of a second.
    pub slow: f64,
    /// The target does not run: what it gets in that span it answers at its end.
    pub target_stall: Option<Span>,
}

impl Bench {
    pub fn new(partitions: Vec<Partition>, seed: u64) -> Self {
        Self {
            partitions,
            dice: Dice(seed),
            history: History::new(),
            entries: Vec::new(),
            journals: false,
            now_s: 0,
            windows: 0,
            pending: Vec::new(),
            changes: Vec::new(),
            op: Op::Write,
            milli_units: 1_000,
            item_bytes: None,
            records_latency: true,
            ramp_to: None,
            hottest: None,
            refusal: key_range_exceeded(),
        }
    }

    fn change(&mut self, now: f64) {
        while let Some((_, change)) = self.changes.first().copied().filter(|(at, _)| *at <= now) {
            self.changes.remove(0);
            for partition in &mut self.partitions {
                partition.refill(now);
            }
            match change {
                Change::Scale(by) => self.partitions.iter_mut().for_each(|p| {
                    p.per_s *= by;
                    p.holds *= by;
                    p.tokens = p.tokens.min(p.holds);
                }),
                Change::Split => {
                    let by_share = |a: &(usize, &Partition), b: &(usize, &Partition)| a.1.share.total_cmp(&b.1.share);
                    let place = self.partitions.iter().enumerate().max_by(by_share).map_or(0, |(place, _)| place);
                    let half = &mut self.partitions[place];
                    half.share /= 2.0;
                    half.tokens /= 2.0;
                    let other = half.clone();
                    self.partitions.insert(place + 1, other);
                }
            }
        }
    }

    /// Four even partitions of 1,000/s with one second of burst.
    pub fn fresh_table(seed: u64) -> Self {
        Self::new(vec![Partition::new(1_000.0, 1.0, 0.25); 4], seed)
    }

    /// The same, of whose latencies nothing is recorded.
    #[must_use]
    pub fn without_latency(self) -> Self {
        Self { records_latency: false, ..self }
    }

    pub fn now_s(&self) -> u64 {
        self.now_s
    }

    pub fn pause(&mut self, seconds: u64) {
        for _ in 0..seconds {
            let parts = std::mem::take(&mut self.pending);
            self.second(parts, 0);
        }
    }

    pub fn window(&mut self, rate: f64, seconds: u64) -> WindowId {
        self.window_with(rate, seconds, Client::default())
    }

    pub fn window_with(&mut self, rate: f64, seconds: u64, client: Client) -> WindowId {
        let id = self.open(rate, Some(seconds));
        self.run(id, rate, seconds, client);
        self.close(id);
        id
    }

    /// A window whose rate goes evenly from one to another, a second at a time.
    pub fn ramp(&mut self, from: f64, to: f64, seconds: u64) -> WindowId {
        self.ramp_to = Some(to);
        let id = self.open(from, Some(seconds));
        for second in 0..seconds {
            let rate = from + (to - from) * (second as f64 + 0.5) / seconds as f64;
            self.run(id, rate, 1, Client::default());
        }
        self.close(id);
        id
    }

    pub fn open(&mut self, rate: f64, planned_s: Option<u64>) -> WindowId {
        let id = WindowId(self.windows);
        self.windows += 1;
        let rate = Rate::from_per_s(rate).unwrap_or(Rate::MIN);
        let start = Offset::from_secs(self.now_s);
        let planned_end = planned_s.map(|s| Offset::from_secs(self.now_s + s));
        let mut spec = WindowSpec::steady(id, format!("{rate}/s"), self.op, rate, start, planned_end);
        spec.item_bytes = self.item_bytes;
        spec.ramp_to = self.ramp_to.take().and_then(|to| Rate::from_per_s(to).ok());
        self.entries.push(Entry::Open(spec.clone()));
        self.history.open_window(spec);
        id
    }

    pub fn close(&mut self, id: WindowId) {
        let end = Offset::from_secs(self.now_s);
        self.entries.push(Entry::Close { window: id, end });
        self.history.close_window(id, end);
    }

    pub fn run(&mut self, id: WindowId, rate: f64, seconds: u64, client: Client) {
        let start = self.now_s as f64;
        let mut cells = vec![Part::of(id); seconds as usize + 1];
        let mut stalls = vec![0u64; seconds as usize + 1];
        for intent in 0..(rate * seconds as f64).round() as u64 {
            let at = intent as f64 / rate;
            let due = &mut cells[at as usize];
            due.counts.offered += 1;
            let stalled = client.stall.is_some_and(|(from, to)| at >= from && at < to);
            if stalled || self.dice.unit() < client.shed {
                due.counts.shed += 1;
                if stalled {
                    let (from, to) = client.stall.unwrap_or_default();
                    stalls[at as usize] = ((to - from) * 1e9) as u64;
                }
                continue;
            }
            let reached = client.target_stall.filter(|(from, to)| at >= *from && at < *to).map_or(at, |(_, to)| to);
            self.change(start + reached);
            let mut pick = self.dice.unit();
            let last = self.partitions.len() - 1;
            let which = self.partitions.iter().take(last).position(|p| {
                pick -= p.share;
                pick < 0.0
            });
            let is_hottest = u64::from(self.hottest == Some(which.unwrap_or(last)));
            let taken = self.partitions[which.unwrap_or(last)].takes(start + reached);
            let slow = if client.slow > 0.0 && self.dice.unit() < client.slow { 0.25 } else { 0.0 };
            let done = (reached + slow + 0.004 + 0.004 * self.dice.unit()).min(seconds as f64 + 0.5);
            let cell = &mut cells[done as usize];
            let micros = ((done - at) * 1e6) as u64;
            let arrived = Offset::from_nanos(((start + done) * 1e9) as u64);
            if self.records_latency {
                cell.schedule_error.record_micros(60);
            }
            if client.timed_out > 0.0 && self.dice.unit() < client.timed_out {
                cell.counts.timed_out += 1;
            } else if taken {
                cell.counts.accepted += 1;
                cell.counts.hottest_accepted += is_hottest;
                cell.counts.consumed += Units::from_milli(self.milli_units);
                if self.records_latency {
                    cell.service.accepted.record_micros(micros);
                    cell.response.accepted.record_micros(micros + 60);
                }
                cell.first_accepted = Some(cell.first_accepted.map_or(arrived, |a| a.min(arrived)));
            } else {
                cell.counts.throttled += 1;
                cell.counts.hottest_throttled += is_hottest;
                if self.records_latency {
                    cell.service.throttled.record_micros(micros);
                    cell.response.throttled.record_micros(micros + 60);
                }
                let sent = Offset::from_nanos(((start + at) * 1e9) as u64);
                cell.first_throttled_sent = Some(cell.first_throttled_sent.map_or(sent, |s| s.min(sent)));
            }
        }
        let carried = std::mem::take(&mut self.pending);
        let rest = cells.pop().unwrap_or_default();
        for (second, cell) in cells.into_iter().enumerate() {
            let mut parts = if second == 0 { carried.clone() } else { Vec::new() };
            match parts.iter_mut().find(|p| p.window == id) {
                Some(part) => part.merge(&cell),
                None => parts.push(cell),
            }
            self.second(parts, stalls[second]);
        }
        self.pending = vec![rest];
    }

    fn second(&mut self, parts: Vec<Part>, stall_nanos: u64) {
        let start = Offset::from_secs(self.now_s);
        let throttled: u64 = parts.iter().map(|p| p.counts.throttled).sum();
        let refusals = (throttled > 0).then(|| Tally {
            what: self.refusal.clone().into(),
            window: parts[0].window,
            count: throttled,
            first: start,
            last: start,
        });
        let bucket = Bucket {
            start,
            parts,
            refusals: refusals.into_iter().collect(),
            runners: 1,
            in_flight_max: 40,
            longest_stall_nanos: stall_nanos,
            cpu_nanos: 120_000_000,
            ..Bucket::default()
        };
        self.history.absorb(&bucket);
        if self.journals {
            self.entries.push(Entry::Bucket(Box::new(bucket)));
        }
        self.now_s += 1;
    }

    /// What was measured so far, drained.
    pub fn snapshot(&mut self) -> Snapshot {
        self.pause(1);
        self.glimpse()
    }

    /// What was measured so far, as it stands.
    pub fn glimpse(&self) -> Snapshot {
        self.history.snapshot(Offset::from_secs(self.now_s))
    }
}

/// The answer of a partition at its capacity.
pub fn key_range_exceeded() -> Refusal {
    let reasons = vec!["TableWriteKeyRangeThroughputExceeded".to_owned()];
    Refusal::new(400, "ThrottlingException", reasons, None, "Throughput exceeds the current capacity of your table or index.")
}
