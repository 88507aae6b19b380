//! What was meant: typed options turned into a complete session, or one sentence that says what to type instead.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::args::{RunArgs, SimulationArgs, TargetArg};
use super::repeat::numbered;
use crate::analysis::cost::{Price, Prices};
use crate::doctor::OpenFiles;
use crate::load::{Op, Rate};
use crate::plan::{Plan, PlanWindow, find};
use crate::session::config::{Guards, Output, SessionConfig, Start, TableChoice, TargetChoice};
use crate::session::{guard, session_id, state_dir};
use crate::table::{Access, Billing, check_name, check_region, find_region};
use crate::{embedded, report};

/// The rate a session starts with, unless told otherwise.
const FIRST_RATE: Rate = Rate::per_second(1_000);
/// The length of a single window, unless told otherwise.
const ONE_WINDOW: Duration = Duration::from_secs(30);
/// Item size in bytes, unless the plan or the person says otherwise.
pub(super) const ITEM_BYTES: u32 = 1_000;
/// Items seeded for reads, unless the plan or the person says otherwise.
pub(super) const SEEDED_ITEMS: u64 = 1_000;
/// The in-flight cap, unless told otherwise or bounded by the open-file limit.
const IN_FLIGHT: u32 = 4_096;
/// Guards on AWS, unless told otherwise.
const AWS_MAX_COST: f64 = 5.0;
const AWS_MAX_DURATION: Duration = Duration::from_secs(3_600);

/// What `run` was asked to do.
#[derive(Debug)]
pub struct Meant {
    /// The session.
    pub session: SessionConfig,
    /// Whether there is a screen.
    pub screen: bool,
    /// Whether the document goes to standard output.
    pub document_to_stdout: bool,
}

/// Turns options into a session. `terminal` tells whether both standard input and output are one.
pub fn meant(args: &RunArgs, terminal: bool) -> Result<Meant, String> {
    let screen = terminal && !args.headless && args.repeat.is_none();
    let id = session_id(SystemTime::now(), std::process::id());
    let target = target(args)?;
    let table = table(args, &target)?;
    let mut start = start(args, screen)?;
    if let Start::Plan(plan) = &mut start {
        // What is typed holds for the whole plan; what a window says of itself, for that window.
        plan.item_bytes = args.item_bytes.or(plan.item_bytes);
        plan.keys = args.keys.or(plan.keys);
        plan.items = args.items.or(plan.items);
        match (&mut plan.search, args.precision) {
            (Some(search), Some(precision)) => search.precision = precision,
            (None, Some(_)) => {
                return Err(format!(
                    "--precision is for plans that search a ceiling, and {} does not; type --plan find-ceiling",
                    plan.name
                ));
            }
            _ => {}
        }
    } else if args.precision.is_some() {
        return Err("--precision is for plans that search a ceiling; type --plan find-ceiling".to_owned());
    }
    let plan = if let Start::Plan(plan) = &start { Some(plan.as_ref()) } else { None };
    if table != fresh(args) && !args.write_to_existing && may_write(args, plan, screen) {
        return Err("writing to an existing table changes its items; type --write-to-existing to allow it, or --op read".to_owned());
    }
    let keys = args.keys.or(plan.and_then(|plan| plan.keys)).unwrap_or_default();
    let price = price(args, &target);
    let aws = matches!(target, TargetChoice::Remote(Access::Aws { .. }));
    let guards = Guards {
        max_ops: args.max_ops,
        max_cost: args.max_cost.or(aws.then_some(AWS_MAX_COST)),
        max_duration: args.max_duration.or(aws.then_some(AWS_MAX_DURATION)),
    };
    if guards.max_cost.is_some() && price.is_none() {
        return Err("the price of this region is not known, so --max-cost cannot be kept; type --price-write and --price-read in USD per million units".to_owned());
    }
    let embedded_target = matches!(target, TargetChoice::Embedded(_));
    let session = SessionConfig {
        output: output(args, &id, screen)?,
        id,
        target,
        table,
        client: args.client,
        ends_with_plan: !screen,
        op: args.op,
        item_bytes: args.item_bytes.or(plan.and_then(|plan| plan.item_bytes)).unwrap_or(ITEM_BYTES),
        items: args.items.or(plan.and_then(|plan| plan.items)).unwrap_or(SEEDED_ITEMS),
        consistent_read: args.consistent_read || plan.and_then(|plan| plan.consistent_read).unwrap_or_default(),
        start,
        keys,
        seed: args.seed,
        shards: args.shards.unwrap_or_else(default_shards),
        max_in_flight: in_flight_cap(args.max_in_flight, embedded_target)?,
        timeout: args.timeout,
        late_limit: args.late_limit,
        guards,
        price,
        #[cfg(debug_assertions)]
        panic_after: args.panic_after,
    };
    if let Start::Plan(plan) = &session.start {
        guard::affordable(plan, &session)?;
    }
    if session.op == Op::Read && matches!(session.table, TableChoice::Fresh { .. }) {
        guard::seeding_affordable(&session)?;
    }
    let document_to_stdout = args.out.as_deref() == Some(Path::new("-"));
    Ok(Meant { session, screen, document_to_stdout })
}

/// The simulated endpoint that was asked for.
pub fn simulation(args: &SimulationArgs, listen: std::net::SocketAddr) -> Result<embedded::Config, String> {
    let scale = args.embedded_time_scale;
    if !(scale.is_finite() && (0.01..=100_000.0).contains(&scale)) {
        return Err(format!("--embedded-time-scale {scale} is outside 0.01 to 100000; type for example 10"));
    }
    Ok(embedded::Config {
        listen,
        profile: embedded::Profile::find(&args.embedded_profile)?,
        seed: args.embedded_seed,
        time_scale: scale,
        ..embedded::Config::default()
    })
}

fn target(args: &RunArgs) -> Result<TargetChoice, String> {
    if let Some(region) = &args.region {
        check_region(region).or_else(|wrong| if args.endpoint_url.is_some() { Ok(()) } else { Err(wrong) })?;
    }
    match (args.target, &args.endpoint_url) {
        (Some(TargetArg::Endpoint) | None, Some(url)) => {
            crate::wire::Endpoint::parse(url, "us-east-1").map_err(|e| e.to_string())?;
            let (url, region) = (url.trim_end_matches('/').to_owned(), args.region.clone());
            Ok(TargetChoice::Remote(if is_loopback(&url) {
                Access::Loopback { url, region: region.unwrap_or_else(|| "us-east-1".to_owned()) }
            } else {
                Access::Endpoint { url, region, profile: args.profile.clone() }
            }))
        }
        (Some(TargetArg::Endpoint), None) => {
            Err("--target endpoint needs --endpoint-url, for example --endpoint-url http://127.0.0.1:8000".to_owned())
        }
        (Some(_), Some(_)) => Err("--endpoint-url is for --target endpoint; leave out one of them".to_owned()),
        (Some(TargetArg::Aws), None) => {
            // Known now, since prices and so guards depend on it.
            let region = args.region.clone().or_else(|| find_region(args.profile.as_deref()));
            let region = region.ok_or("no AWS region is set; type for example --region us-east-1")?;
            check_region(&region)?;
            Ok(TargetChoice::Remote(Access::Aws { region, profile: args.profile.clone() }))
        }
        (Some(TargetArg::Embedded) | None, None) => {
            if args.profile.is_some() {
                return Err("--profile is for AWS; add --target aws".to_owned());
            }
            let mut config = simulation(&args.simulation, std::net::SocketAddr::from(([127, 0, 0, 1], 0)))?;
            if let Some(region) = &args.region {
                config.region.clone_from(region);
            }
            Ok(TargetChoice::Embedded(Box::new(config)))
        }
    }
}

fn is_loopback(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or_default();
    let host = if host.starts_with('[') {
        host.split(']').next().unwrap_or_default().trim_start_matches('[')
    } else {
        host.split(':').next().unwrap_or_default()
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn fresh(args: &RunArgs) -> TableChoice {
    TableChoice::Fresh { billing: args.billing, warm: args.warm, max_units: args.max_units }
}

fn table(args: &RunArgs, target: &TargetChoice) -> Result<TableChoice, String> {
    let Some(name) = &args.table else {
        if args.billing != Billing::OnDemand && args.max_units.is_some() {
            return Err("--max-units is for on-demand tables; leave out --billing or --max-units".to_owned());
        }
        return Ok(fresh(args));
    };
    check_name(name)?;
    if matches!(target, TargetChoice::Embedded(_)) {
        return Err("the simulated endpoint starts without tables; leave out --table, or add --target aws".to_owned());
    }
    if args.billing != Billing::OnDemand || args.warm.is_some() || args.max_units.is_some() {
        return Err("--billing, --warm and --max-units are for a table that is created; leave them out with --table".to_owned());
    }
    Ok(TableChoice::Existing(name.clone()))
}

fn may_write(args: &RunArgs, plan: Option<&Plan>, screen: bool) -> bool {
    // On a screen, a person may still pick a plan that writes.
    args.op == Op::Write || screen || plan.is_some_and(Plan::writes)
}

fn start(args: &RunArgs, screen: bool) -> Result<Start, String> {
    match &args.plan {
        Some(_) if args.rate.is_some() || args.window.is_some() => {
            Err("a plan has its own rates and windows; leave out --plan, or --rate and --window".to_owned())
        }
        Some(name) => Ok(Start::Plan(Box::new(find(name)?))),
        None if args.window.is_some() || (args.rate.is_some() && !screen) => {
            let (rate, length) = (args.rate.unwrap_or(FIRST_RATE), args.window.unwrap_or(ONE_WINDOW));
            if length < Duration::from_secs(1) {
                return Err("a window lasts at least a second; type for example --window 30s".to_owned());
            }
            // Windows start and end on whole seconds.
            let length = Duration::from_secs(length.as_secs());
            let window = PlanWindow::steady(args.op, rate, length, Duration::ZERO);
            let about = format!("{rate} {}/s, once.", args.op.plural());
            Ok(Start::Plan(Box::new(Plan::of("one-window", about, vec![window]))))
        }
        None if screen => Ok(Start::Explore(args.rate.unwrap_or(FIRST_RATE))),
        None => Ok(Start::Plan(Box::new(find(if args.op == Op::Read { "reads" } else { "quick" })?))),
    }
}

fn price(args: &RunArgs, target: &TargetChoice) -> Option<Price> {
    if let (Some(write), Some(read)) = (args.price_write, args.price_read) {
        return Some(Price { write, read });
    }
    match target {
        TargetChoice::Embedded(config) => Prices::find(&config.region),
        TargetChoice::Remote(Access::Aws { region, .. }) => Prices::find(region),
        // What another server's units cost, nobody here can know.
        TargetChoice::Remote(_) => None,
    }
}

fn output(args: &RunArgs, id: &str, screen: bool) -> Result<Output, String> {
    let document = match &args.out {
        Some(path) if path == Path::new("-") => {
            if screen {
                return Err("--out - writes to the terminal that the screen is on; add --headless, or name a file".to_owned());
            }
            None
        }
        Some(path) => Some(args.repeat.map_or_else(|| path.clone(), |_| numbered(path, 1))),
        None => Some(PathBuf::from(format!("throttlescope-{id}.json"))),
    };
    if let Some(path) = &document {
        report::check_writable(path, args.force).map_err(|e| e.to_string())?;
    }
    let parent = document.as_deref().and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty());
    let snapshots = parent.map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    Ok(Output { document, snapshots, force: args.force, journal: state_dir() })
}

fn default_shards() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores.saturating_sub(1)).unwrap_or(1).clamp(1, 256)
}

/// The cap asked for, or the default, within what the open-file limit allows. With the simulated endpoint in the same
/// process, each connection takes two descriptors.
fn in_flight_cap(asked: Option<u32>, embedded_target: bool) -> Result<u32, String> {
    let files = OpenFiles::raised();
    let limit = files.soft;
    let most = files.connections(embedded_target).unwrap_or(u32::MAX);
    match (asked, limit) {
        (Some(asked), Some(limit)) if asked > most => Err(format!(
            "--max-in-flight {asked} needs more open files than this process may have ({limit}); type --max-in-flight {most}, or raise `ulimit -n`"
        )),
        (Some(asked), _) => Ok(asked),
        (None, _) if most == 0 => {
            Err("this process may open too few files to make a connection; raise `ulimit -n` to at least 256".to_owned())
        }
        (None, _) => Ok(IN_FLIGHT.min(most)),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::Cli;

    fn typed(line: &str) -> Result<Meant, String> {
        let words = std::iter::once("throttlescope").chain(line.split_whitespace());
        let cli = Cli::try_parse_from(words).map_err(|e| e.to_string())?;
        meant(&cli.run, false)
    }

    #[test]
    fn bad_input_is_told_what_to_type_instead() {
        for (line, part) in [
            ("--plan celing", "type one of quick, ceiling"),
            ("--rate 0", "pause it instead"),
            ("--rate=-5", "at least 0.001/s"),
            ("--rate 1e99", "largest rate"),
            ("--window 0s", "at least a second"),
            ("--window soon", "for example 30s"),
            ("--endpoint-url nonsense", "for example http://127.0.0.1:8000"),
            ("--target endpoint", "needs --endpoint-url"),
            ("--target aws --endpoint-url http://x", "leave out one of them"),
            ("--target aws --region mars", "type for example us-east-1"),
            ("--profile x", "add --target aws"),
            ("--table ttt", "without tables"),
            ("--endpoint-url http://127.0.0.1:1 --table t!", "letters, digits"),
            ("--endpoint-url http://127.0.0.1:1 --table ttt", "--write-to-existing"),
            ("--endpoint-url http://127.0.0.1:1 --max-cost 1", "--price-write"),
            ("--plan ceiling --rate 5", "leave out"),
            ("--plan ceiling --max-ops 10", "--max-ops 870000 to allow it"),
            ("--plan ceiling --max-cost 0.01", "to allow it"),
            ("--plan ceiling --max-duration 1m", "to allow it"),
            ("--item-bytes 500000", "type 23 to 409600"),
            ("--timeout 0s", "10ms to 60s"),
            ("--keys random", "zipf:1.1"),
            ("--billing none", "provisioned:1000,1000"),
            ("--warm 4000", "for example 8000,24000"),
            ("--out /proc/nowhere/x.json", "/proc/nowhere"),
            ("--embedded-profile none", "fresh"),
            ("--embedded-time-scale 0", "for example 10"),
            ("--client boto", "type wire or sdk"),
            ("--max-in-flight 0", "0"),
        ] {
            let said = typed(line).map(|_| ()).expect_err(line);
            assert!(said.contains(part), "{line}: {said}");
        }
    }

    #[test]
    fn the_client_is_wire_unless_told_otherwise() {
        for (line, client) in [("", "wire"), ("--client wire", "wire"), ("--client sdk", "sdk")] {
            assert_eq!(typed(line).expect("runs").session.client.to_string(), client, "{line}");
        }
    }

    #[test]
    fn without_a_terminal_a_first_try_ends_with_an_answer() {
        let meant = typed("").expect("runs");
        assert!(!meant.screen && meant.session.ends_with_plan);
        assert!(matches!(&meant.session.start, Start::Plan(plan) if plan.name == "quick"));
    }

    #[test]
    fn a_loopback_endpoint_never_gets_real_credentials() {
        for url in ["http://127.0.0.1:8000", "http://localhost:8000/", "http://[::1]:8000"] {
            let meant = typed(&format!("--endpoint-url {url}")).expect("runs");
            assert!(matches!(meant.session.target, TargetChoice::Remote(Access::Loopback { .. })), "{url}");
        }
        let meant = typed("--endpoint-url https://dynamodb.example.com").expect("runs");
        assert!(matches!(meant.session.target, TargetChoice::Remote(Access::Endpoint { .. })));
    }

    #[test]
    fn a_real_account_is_guarded_without_being_asked() {
        let meant = typed("--target aws --region us-east-1").expect("runs");
        assert_eq!(meant.session.guards.max_cost, Some(5.0));
        assert_eq!(meant.session.guards.max_duration, Some(Duration::from_secs(3_600)));
        let said = typed("--target aws --region sa-east-1").map(|_| ()).expect_err("no price");
        assert!(said.contains("--price-write"), "{said}");
    }
}
