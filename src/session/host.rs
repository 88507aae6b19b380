//! The quick part of the doctor: what is found out about this machine and the way to the endpoint while the table is
//! created, and said when the plan needs more.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::supervisor::{Session, Stopped};
use crate::doctor::{self, Distance, Need, Probe, Survey, need};
use crate::report::{Entry, EventKind, Host};
use crate::wire::{Endpoint, Identity};

/// The load waits for the survey no longer than this after its start.
const WITHIN: Duration = Duration::from_millis(1_500);

/// A survey that is under way; dropping it ends it.
pub(super) struct Surveying {
    host: doctor::Host,
    begun: Instant,
    hurry: watch::Sender<bool>,
    task: JoinSet<Distance>,
}

impl Session {
    /// Notes what this machine has, and starts asking how far away the endpoint is.
    pub(super) fn survey(&mut self, endpoint: Endpoint, identity: Arc<Identity>, table: &str) -> Surveying {
        let host = doctor::Host::look();
        self.note_host(&host, &Distance::default());
        let (hurry, hurried) = watch::channel(false);
        let (mut task, table) = (JoinSet::new(), table.to_owned());
        task.spawn(async move { Survey::QUICK.run(Probe::new(endpoint, identity), &table, hurried).await });
        Surveying { host, begun: Instant::now(), hurry, task }
    }

    /// Brings the survey to its end, now that nothing else is waited for. Gives the round trip, where it is known.
    pub(super) async fn surveyed(&mut self, mut surveying: Surveying) -> Result<Option<Duration>, Stopped> {
        surveying.hurry.send_replace(true);
        let bound = (surveying.begun + WITHIN).max(Instant::now() + Duration::from_millis(100));
        let task = &mut surveying.task;
        let found = self.wait_for(timeout_at(bound, task.join_next())).await?;
        let distance = match found {
            Ok(Some(Ok(distance))) => distance,
            _ => Distance { trouble: Some("no answer in time".to_owned()), ..Distance::default() },
        };
        let need = self.note_host(&surveying.host, &distance);
        if distance.round_trip.is_some()
            && let Some(shortfall) = need.shortfall()
        {
            let rate = self.first_rate();
            self.scribe.event(EventKind::Warning, format!("{rate}/s is more than this machine is set up for: {shortfall}"));
        }
        Ok(distance.round_trip)
    }

    fn note_host(&mut self, host: &doctor::Host, distance: &Distance) -> Need {
        let rate = self.first_rate();
        let need = Need {
            connections: need::connections(rate, distance.round_trip.unwrap_or_default()),
            max_in_flight: self.config.max_in_flight,
            open_files_allow: host.open_files.connections(self.server.is_some()),
        };
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        let (offset, either_way) = distance.clock.offset().middle_ms().unzip();
        let asked = distance.round_trips > 0 || distance.trouble.is_some();
        self.scribe.apply(&Entry::Host(Host {
            cores: host.cores,
            cpu_quota_cores: host.quota_cores.into(),
            load_average_1min: host.load_average.into(),
            open_files: host.open_files.soft,
            open_files_hard: host.open_files.hard,
            round_trip_ms: distance.round_trip.map(ms).into(),
            round_trip_min_ms: distance.round_trip_min.map(ms).into(),
            round_trips: distance.round_trips,
            connect_ms: distance.connected.map(|connected| ms(connected.total())).into(),
            clock_offset_ms: offset.into(),
            clock_offset_uncertainty_ms: either_way.into(),
            clock_trouble: distance.clock_trouble().filter(|_| asked),
            asked_per_s: rate.per_s().into(),
            connections_needed: distance.round_trip.map(|_| need.connections),
            connections_allowed: need.allowed(),
        }));
        need
    }
}
