//! Provisioning: the simulated endpoint, access, the table, its items.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::Instant;

use super::config::{TableChoice, TargetChoice};
use super::ledger;
use super::supervisor::{Session, Stopped};
use crate::analysis::cost::units_per_request;
use crate::load::Op;
use crate::load::outcome::mask_accounts;
use crate::report::{EventKind, Phase, TargetKind};
use crate::table::{Access, Control, TableSpec};
use crate::wire::{Endpoint, Identities, Identity};
use crate::{embedded, load};

/// Credentials that expire are looked up again this often.
const REFRESH: Duration = Duration::from_secs(30);

/// Where the load goes, and how far away that is.
#[derive(Debug)]
pub(super) struct Reach {
    pub(super) endpoint: Endpoint,
    /// The endpoint as the control plane uses it.
    pub(super) url: String,
    pub(super) identities: Identities,
    pub(super) round_trip: Duration,
}

impl Session {
    /// Everything that must stand before load can run.
    pub(super) async fn provision(&mut self) -> Result<Reach, Stopped> {
        let access = match self.config.target.clone() {
            TargetChoice::Embedded(config) => {
                let region = config.region.clone();
                match embedded::start(*config) {
                    Ok(server) => {
                        let url = server.url();
                        self.server = Some(server);
                        Access::Loopback { url, region }
                    }
                    Err(error) => {
                        self.fail(error.to_string());
                        return Err(Stopped);
                    }
                }
            }
            TargetChoice::Remote(access) => access,
        };
        let control = self.wait_for(Box::pin(async move { Control::connect(&access).await })).await?;
        let control = self.or_fail(control)?;
        let endpoint = self.or_fail(Endpoint::parse(control.endpoint(), control.region()))?;
        self.control = Some(control.clone());
        let kind = self.config.target.kind();
        let (table, billing) = match &self.config.table {
            TableChoice::Fresh { billing, .. } => (format!("throttlescope-{}", self.config.id), billing.to_string()),
            TableChoice::Existing(name) => (name.clone(), String::new()),
        };
        self.scribe.target(|target| {
            target.kind = kind;
            target.simulated = kind == TargetKind::Embedded;
            target.endpoint = mask_accounts(control.endpoint());
            target.region = control.region().to_owned();
            target.table.clone_from(&table);
            target.billing_mode = billing;
        });
        let (identities, identity) = self.identities(&control).await?;
        let surveying = self.survey(endpoint.clone(), identity, &table);
        match self.config.table.clone() {
            TableChoice::Fresh { billing, warm, max_units } => {
                let spec = TableSpec { name: table.clone(), session: self.config.id.clone(), billing, warm, max_units };
                self.create(&control, spec).await?;
            }
            TableChoice::Existing(name) => self.adopt(&control, &name).await?,
        }
        if self.reads() && self.creates_table() {
            self.seed(&control, &table).await?;
        }
        self.seeding_is_past = true;
        let round_trip = if let Some(round_trip) = self.surveyed(surveying).await? {
            round_trip
        } else {
            let asked = Instant::now();
            let known = self.wait_for(control.describe(&table)).await?;
            self.or_fail(known)?;
            asked.elapsed()
        };
        Ok(Reach { endpoint, url: control.endpoint().to_owned(), identities, round_trip })
    }

    async fn create(&mut self, control: &Control, spec: TableSpec) -> Result<(), Stopped> {
        let name = spec.name.clone();
        let called = self.clock.now();
        let created = Instant::now();
        // Written down before the call: a session that is killed now is found by what it wrote.
        self.scribe.target(|target| {
            target.created_by_session = true;
            target.create_called = Some(called);
        });
        self.scribe.phase(Phase::Creating);
        self.scribe.sync_journal();
        self.create_is_open = true;
        let mut creating = Box::pin(control.create(&spec));
        let answered = self.wait_for(&mut creating).await;
        let (asked, stopped) = match answered {
            Ok(asked) => (asked, false),
            // Told to stop while the call is out: its answer, which is bounded, decides what there is to tear down.
            Err(Stopped) => (creating.await, true),
        };
        self.create_is_open = asked.as_ref().is_err_and(|error| !error.is_without_effect());
        if asked.as_ref().is_err_and(crate::table::TableError::is_without_effect) {
            // There is nothing to delete, and a table of that name, should there be one, is somebody else's.
            self.scribe.target(|target| {
                target.created_by_session = false;
                target.table.clear();
            });
        }
        self.or_fail(asked)?;
        if stopped {
            return Err(Stopped);
        }
        let activated = self.wait_for(control.wait_active(&name, created)).await?;
        let activated = self.or_fail(activated)?;
        self.scribe.target(|target| {
            target.time_to_active_s = Some(activated.took.as_secs_f64());
            target.active = Some(called.plus(activated.took));
            target.warm_throughput = activated.table.warm_throughput;
            target.max_units = activated.table.max_units;
            target.billing_mode.clone_from(&activated.table.billing);
        });
        self.claim(&activated.table);
        self.scribe.event(EventKind::Note, format!("table ACTIVE after {:.1} s", activated.took.as_secs_f64()));
        Ok(())
    }

    /// Measures a table that is there, without changing it.
    async fn adopt(&mut self, control: &Control, name: &str) -> Result<(), Stopped> {
        let described = self.wait_for(control.describe(name)).await?;
        let Some(table) = self.or_fail(described)? else {
            self.fail(crate::table::TableError::NoSuchTable(name.to_owned()).to_string());
            return Err(Stopped);
        };
        if table.status != "ACTIVE" {
            self.fail(crate::table::TableError::NotActive { name: name.to_owned(), status: table.status }.to_string());
            return Err(Stopped);
        }
        match &table.key {
            Some((key, false)) if key == load::workload::KEY_NAME => {}
            Some((key, sorted)) => {
                let sort = if *sorted { " and a sort key" } else { "" };
                let why = format!(
                    "its partition key is `{key}`{sort}; the workload needs a table whose only key is the string `{}`",
                    load::workload::KEY_NAME
                );
                self.fail(crate::table::TableError::DoesNotFit { name: name.to_owned(), why }.to_string());
                return Err(Stopped);
            }
            None => {}
        }
        self.scribe.target(|target| {
            target.warm_throughput = table.warm_throughput;
            target.max_units = table.max_units;
            target.billing_mode.clone_from(&table.billing);
        });
        self.claim(&table);
        Ok(())
    }

    async fn seed(&mut self, control: &Control, table: &str) -> Result<(), Stopped> {
        self.scribe.phase(Phase::Seeding);
        let workload = self.kinds.workload().clone();
        let (items, bytes) = (workload.items, self.config.seeded_bytes());
        // Until the service says what it took, and if it never does: the most it can be.
        self.seed_units = items as f64 * units_per_request(Op::Write, bytes, false);
        let written = Cell::new(0);
        let seeding = control.seed(table, &workload, bytes, |so_far| written.set(so_far));
        let shown = |session: &mut Self| {
            let progress = Some((written.get(), items));
            if session.scribe.target.seeded != progress {
                session.scribe.target(|target| target.seeded = progress);
            }
        };
        let seeded = self.wait_and(seeding, shown).await?;
        let seeded = self.or_fail(seeded)?;
        self.seed_units = seeded.units;
        self.scribe.target(|target| target.seeded = Some((seeded.written, items)));
        self.seeded = true;
        if let Some(address) = self.server.as_ref().map(embedded::Server::addr) {
            let counted = ledger::ask(address, table).await;
            self.counted_before =
                self.or_fail(counted.map_err(|why| format!("the simulated endpoint does not say what it counted: {why}")))?;
        }
        self.scribe.event(EventKind::Note, format!("{} items seeded, {} units", seeded.written, seeded.units));
        Ok(())
    }

    /// Credentials for the data plane, and as they are now; those that expire are looked up again while the session runs.
    async fn identities(&mut self, control: &Control) -> Result<(Identities, Arc<Identity>), Stopped> {
        let found = self.wait_for(control.identity()).await?;
        let (identity, expiry) = self.or_fail(found)?;
        let (sender, receiver) = watch::channel(Arc::clone(&identity));
        if expiry.is_some() {
            tokio::spawn(refresh(control.clone(), sender));
        }
        Ok((Identities::new(receiver), identity))
    }

    fn or_fail<T, E: std::fmt::Display>(&mut self, result: Result<T, E>) -> Result<T, Stopped> {
        result.map_err(|error| {
            self.fail(error.to_string());
            Stopped
        })
    }
}

/// Looks credentials up again until nobody uses them any more.
async fn refresh(control: Control, sender: watch::Sender<Arc<crate::wire::Identity>>) {
    while !sender.is_closed() {
        tokio::time::sleep(REFRESH).await;
        match control.identity().await {
            Ok((identity, expiry)) => {
                let lasts = expiry.and_then(|expiry| expiry.duration_since(SystemTime::now()).ok());
                tracing::debug!(?lasts, "credentials looked up");
                sender.send_if_modified(|known| {
                    let newer = **known != *identity;
                    if newer {
                        *known = identity;
                    }
                    newer
                });
            }
            Err(error) => tracing::warn!("credentials cannot be refreshed: {error}"),
        }
    }
}

/// A short id for a session: the time in seconds and the process, mixed, so that two sessions started together differ.
pub fn session_id(now: SystemTime, process: u32) -> String {
    let nanos = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let mixed = load::workload::mix(nanos ^ load::workload::mix(u64::from(process)));
    format!("ts-{:08x}", mixed & 0xffff_ffff)
}
