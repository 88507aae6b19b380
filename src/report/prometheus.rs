//! A recording in the Prometheus text format. Counters speak of windows, so that a rate over them is that of one operation at one
//! offered rate; each carries the session and whether the endpoint was simulated.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use crate::load::{Counts, Distribution, Latency, Window, WindowId};

use super::recording::Recording;

/// The content type of what [`Exporter::text`] makes.
pub const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// Windows named one by one; the counts of older ones are summed under [`EARLIER`], by operation.
pub const WINDOWS_NAMED: usize = 200;
/// What stands for older windows.
pub const EARLIER: &str = "earlier";

/// Upper bounds of the latency buckets, seconds: finest where DynamoDB answers.
const BOUNDS_S: [f64; 20] =
    [0.000_5, 0.001, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// Makes text of recordings. Remembers what finished windows add to the histograms, so that a scrape decodes nothing twice.
#[derive(Debug, Default)]
pub struct Exporter {
    session: String,
    finished: HashMap<WindowId, (u64, Histograms)>,
}

/// Latencies: service and response of accepted, then of throttled requests.
type Histograms = [Bins; 4];

const HISTOGRAMS: [(&str, &str); 4] =
    [("accepted", "service"), ("accepted", "response"), ("throttled", "service"), ("throttled", "response")];

/// A classic histogram: values up to each bound and above the one before.
#[derive(Clone, Debug, Default)]
struct Bins {
    counts: [u64; BOUNDS_S.len()],
    count: u64,
    sum_s: f64,
}

impl Bins {
    fn of(latency: &Latency) -> Self {
        let mut bins = Self { count: latency.count(), sum_s: latency.sum_s(), ..Self::default() };
        let mut below = 0;
        for (count, bound) in bins.counts.iter_mut().zip(BOUNDS_S) {
            let up_to = latency.count_at_most_micros((bound * 1e6).round() as u64);
            *count = up_to.saturating_sub(below);
            below = up_to;
        }
        bins
    }

    fn add(&mut self, more: &Self) {
        self.counts.iter_mut().zip(more.counts).for_each(|(count, more)| *count += more);
        self.count += more.count;
        self.sum_s += more.sum_s;
    }
}

impl Exporter {
    /// The recording as text; empty until it is known what is measured, since a series must not change its labels.
    pub fn text(&mut self, recording: &Arc<Recording>) -> Result<String, fmt::Error> {
        if recording.target.endpoint.is_empty() {
            return Ok(String::new());
        }
        if self.session != recording.session.id {
            self.session.clone_from(&recording.session.id);
            self.finished.clear();
        }
        let labels = [("session", self.session.clone()), ("simulated", recording.target.simulated.to_string())];
        let mut registry = Registry::with_prefix_and_labels(
            "throttlescope",
            labels.into_iter().map(|(name, value)| (Cow::Borrowed(name), Cow::Owned(value))),
        );
        registry.register_collector(Box::new(Page { recording: Arc::clone(recording), latencies: self.latencies(recording) }));
        let mut text = String::new();
        prometheus_text::encode(&mut text, &registry)?;
        Ok(text)
    }

    fn latencies(&mut self, recording: &Recording) -> Histograms {
        let mut sum = Histograms::default();
        for window in &recording.load.windows {
            // A window that was folded into another has the other's number and more outcomes.
            let known = self.finished.get(&window.spec.id).filter(|(completed, _)| *completed == window.counts.completed());
            let of_window = if let Some((_, known)) = known {
                known.clone()
            } else {
                let each = distributions(window);
                let made = each.map(|distribution| match distribution {
                    Distribution::Live(latency) => Bins::of(latency),
                    Distribution::Packed { .. } => Bins::of(&distribution.latency()),
                });
                if each.iter().all(|distribution| matches!(distribution, Distribution::Packed { .. })) {
                    self.finished.insert(window.spec.id, (window.counts.completed(), made.clone()));
                }
                made
            };
            sum.iter_mut().zip(&of_window).for_each(|(sum, more)| sum.add(more));
        }
        sum
    }
}

fn distributions(window: &Window) -> [&Distribution; 4] {
    [&window.service.accepted, &window.response.accepted, &window.service.throttled, &window.response.throttled]
}

#[derive(Debug)]
struct Page {
    recording: Arc<Recording>,
    latencies: Histograms,
}

type Labels = Vec<(&'static str, String)>;
type CounterOf = (&'static str, &'static str, fn(&Counts) -> u64);

const COUNTERS: [CounterOf; 6] = [
    ("offered", "Intents that came due", |c| c.offered),
    ("accepted", "Requests answered with success", |c| c.accepted),
    ("throttled", "Requests refused for capacity", |c| c.throttled),
    ("failed", "Requests that failed otherwise", |c| c.failed),
    ("timed_out", "Requests without an answer in time", |c| c.timed_out),
    ("shed", "Intents that the client did not send", |c| c.shed),
];

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.counters(&mut encoder)?;
        self.gauges(&mut encoder)?;
        self.histogram(&mut encoder)?;
        self.infos(&mut encoder)
    }
}

impl Page {
    fn counters(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let rows = self.rows();
        for (name, help, of) in COUNTERS {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (labels, counts) in &rows {
                metric.encode_family(labels)?.encode_counter::<NoLabelSet, u64, f64>(&of(counts), None)?;
            }
        }
        let units = "Capacity that the service said was consumed";
        let mut metric = encoder.encode_descriptor("consumed_units", units, None, MetricType::Counter)?;
        for (labels, counts) in &rows {
            metric.encode_family(labels)?.encode_counter::<NoLabelSet, f64, f64>(&counts.consumed.as_f64(), None)?;
        }
        Ok(())
    }

    /// The counts by window, older windows summed by operation.
    fn rows(&self) -> Vec<(Labels, Counts)> {
        let windows = &self.recording.load.windows;
        let (older, newer) = windows.split_at(windows.len().saturating_sub(WINDOWS_NAMED));
        let labels = |window: String, label: &str, op: String| vec![("window", window), ("label", label.to_owned()), ("op", op)];
        let mut summed: BTreeMap<String, Counts> = BTreeMap::new();
        for window in older {
            summed.entry(window.spec.op.to_string()).or_default().add(&window.counts);
        }
        let older = summed.into_iter().map(|(op, counts)| (labels(EARLIER.to_owned(), EARLIER, op), counts));
        let newer = newer.iter().map(|window| {
            let spec = &window.spec;
            (labels((spec.id.0 + 1).to_string(), &super::clean(&spec.label), spec.op.to_string()), window.counts)
        });
        older.chain(newer).collect()
    }

    fn gauges(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let recording = &self.recording;
        let load = &recording.load;
        let setpoint = |setpoint: Option<crate::load::Setpoint>| setpoint.map(|s| s.rate.map_or(0.0, crate::load::Rate::per_s));
        let sustained = recording.assessment.sustained;
        let gauges: [(&str, &str, Option<Unit>, Option<f64>); 10] = [
            ("offered_rate_requested", "Offered rate asked for, operations per second; 0 while paused", None, setpoint(load.requested)),
            ("offered_rate_applied", "Offered rate in force, operations per second; 0 while paused", None, setpoint(load.applied)),
            ("in_flight", "Requests without an outcome yet", None, Some(f64::from(load.live.in_flight))),
            ("time_to_active", "CreateTable to ACTIVE", Some(Unit::Seconds), recording.target.time_to_active_s),
            ("elapsed", "Time since the session's start", Some(Unit::Seconds), Some(load.at.secs())),
            ("cost_usd", "Spent so far, where the price is known", None, recording.cost.usd),
            ("sustained_rate", "Saturated ceiling as known so far, requests per second", None, sustained.map(|e| e.per_s)),
            ("sustained_rate_low", "Lower end of its 95 % interval", None, sustained.map(|e| e.ci95.0)),
            ("sustained_rate_high", "Upper end of its 95 % interval", None, sustained.map(|e| e.ci95.1)),
            ("burst_units", "Units accepted above the ceiling before steady throttling", None, recording.assessment.burst_units),
        ];
        for (name, help, unit, value) in gauges {
            // What is not known has no sample; a zero would be a lie.
            if let Some(value) = value.filter(|value| value.is_finite()) {
                encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?.encode_gauge(&value)?;
            }
        }
        Ok(())
    }

    fn histogram(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Latency by outcome; service from sending, response from the intended instant";
        let mut metric = encoder.encode_descriptor("latency", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for ((outcome, since), bins) in HISTOGRAMS.iter().zip(&self.latencies) {
            let buckets: Vec<(f64, u64)> = BOUNDS_S.into_iter().zip(bins.counts).collect();
            let labels = [("outcome", *outcome), ("since", *since)];
            metric.encode_family(&labels)?.encode_histogram::<NoLabelSet>(bins.sum_s, bins.count, &buckets, None)?;
        }
        Ok(())
    }

    fn infos(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let recording = &self.recording;
        let (session, target, workload) = (&recording.session, &recording.target, &recording.workload);
        let about: Labels = vec![
            ("version", session.version.clone()),
            ("client", session.client.clone()),
            ("target", target.kind.name().to_owned()),
            ("region", super::clean(&target.region)),
            ("table", super::clean(&target.table)),
            ("billing", target.billing_mode.clone()),
            ("plan", recording.plan.as_ref().map_or_else(String::new, |plan| super::clean(&plan.name))),
            ("item_bytes", workload.item_bytes.to_string()),
            ("keys", workload.keys.clone()),
        ];
        encoder.encode_descriptor("session", "What is measured", None, MetricType::Info)?.encode_info(&about)?;
        let verdict: Labels = vec![("verdict", recording.assessment.verdict.kind.name().to_owned())];
        encoder.encode_descriptor("verdict", "Whose limit was met, as known so far", None, MetricType::Info)?.encode_info(&verdict)?;
        let phase: Labels = vec![("phase", recording.phase.name().to_owned())];
        encoder.encode_descriptor("phase", "Where the session stands", None, MetricType::Info)?.encode_info(&phase)
    }
}
