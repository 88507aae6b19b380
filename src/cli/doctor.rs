//! `doctor`: examines this machine and the way to the target, and says whether a plan can be measured from here.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::args::DoctorArgs;
use super::meant::{Meant, meant};
use super::{FAILED, Refusal, print};
use crate::doctor::{self, Asked, Examination, Host, NullEndpoint, Probe, Survey, Target, verdict};
use crate::embedded;
use crate::load::outcome::mask_accounts;
use crate::load::{Op, Rate, Workload};
use crate::session::SessionConfig;
use crate::session::config::{Client, Start, TableChoice, TargetChoice};
use crate::table::{Access, Control};
use crate::wire::Endpoint;

pub(super) fn doctor(args: &DoctorArgs) -> Result<u8, Refusal> {
    if args.run.out.is_some() || args.run.force || args.run.headless {
        return Err(Refusal::usage("--out, --force and --headless are for run; doctor prints to standard output, with --json as JSON"));
    }
    if args.run.client == Client::Sdk {
        return Err(Refusal::usage("doctor measures what the client wire costs, which says nothing of sdk; leave out --client sdk"));
    }
    let Meant { session, .. } = meant(&args.run, false).map_err(Refusal::usage)?;
    let cannot = |e: std::io::Error| Refusal::failed(format!("cannot start: {e}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let ended = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        // Whatever is under way ends with its future: a process that was started is killed.
        Ok(tokio::select! {
            found = Box::pin(examine(session)) => Ok(found),
            _ = interrupt.recv() => Err(130),
            _ = terminate.recv() => Err(143),
            _ = hang_up.recv() => Err(129),
        })
    });
    // A lookup that hangs in a blocking thread must not keep the process.
    runtime.shutdown_background();
    let found = match ended.map_err(cannot)? {
        Ok(found) => found?,
        Err(code) => return Ok(code),
    };
    print(&if args.json { format!("{:#}\n", doctor::json(&found)) } else { doctor::text(&found) })?;
    Ok(if found.verdict().can { 0 } else { FAILED })
}

async fn examine(session: SessionConfig) -> Result<Examination, Refusal> {
    let failed = |e: &dyn std::fmt::Display| Refusal::failed(e.to_string());
    let host = Host::look();
    let (peak, op, plan) = highest(&session.start);
    let mut server = None;
    let access = match &session.target {
        TargetChoice::Embedded(config) => {
            let started = embedded::start((**config).clone()).map_err(|e| failed(&e))?;
            let access = Access::Loopback { url: started.url(), region: config.region.clone() };
            server = Some(started);
            access
        }
        TargetChoice::Remote(access) => access.clone(),
    };
    let control = Control::connect(&access).await.map_err(|e| failed(&e))?;
    let endpoint = Endpoint::parse(control.endpoint(), control.region()).map_err(|e| failed(&e))?;
    let (identity, _) = control.identity().await.map_err(|e| failed(&e))?;
    let target = Target {
        kind: session.target.kind().name(),
        endpoint: mask_accounts(control.endpoint()),
        region: control.region().to_owned(),
        simulated: server.is_some(),
    };
    let table = match &session.table {
        TableChoice::Existing(name) => name.clone(),
        // A name of the form that a session's table has, so that the same policy covers it. There is no such table.
        TableChoice::Fresh { .. } => format!("throttlescope-{}", session.id),
    };
    let (_nobody_hurries, hurry) = watch::channel(false);
    let distance = Survey::THOROUGH.run(Probe::new(endpoint, identity), &table, hurry).await;
    if let Some(server) = server {
        server.stop();
    }
    let workload = Workload::new(session.item_bytes, session.keys, session.seed, session.consistent_read, session.items);
    let calibration = calibrated(&host, &session, workload, &target, peak).await;
    let need = verdict::need(&host, &target, &distance, peak, session.max_in_flight);
    let asked = Asked { plan, peak, op, item_bytes: session.item_bytes, shards: session.shards };
    Ok(Examination { asked, target, host, distance, need, calibration })
}

async fn calibrated(
    host: &Host,
    session: &SessionConfig,
    workload: Workload,
    target: &Target,
    peak: Rate,
) -> Result<doctor::Calibration, String> {
    let program = std::env::current_exe().map_err(|e| format!("this program's own file is not known: {e}"))?;
    let endpoint = NullEndpoint::start(&program).await?;
    doctor::calibrate(&endpoint, host, session.shards, workload, session.late_limit, target.whereabouts(), peak.per_s()).await
}

/// The highest rate that is asked, its operation, and the name of the plan.
fn highest(start: &Start) -> (Rate, Op, String) {
    match start {
        Start::Explore(rate) => (*rate, Op::default(), "by hand".to_owned()),
        Start::Plan(plan) => {
            let highest = plan.windows.iter().max_by_key(|window| window.rate);
            highest.map_or((Rate::MIN, Op::default(), plan.name.clone()), |window| (window.rate, window.op, plan.name.clone()))
        }
    }
}
