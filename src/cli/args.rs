//! What was typed.

mod plan;
mod values;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::doctor::need::MOST_IN_FLIGHT;
use crate::load::{Keys, Op, Rate};
use crate::plan::parse_span;
use crate::report::expect::Expectation;
use crate::session::config::Client;
use crate::table::Billing;
use crate::tui::{GlyphChoice, ThemeChoice};
use values::{item_bytes, late_limit, money, pair, precision, timeout};

pub use plan::{LaunchArgs, PlanCommand, PlanSaveArgs, PlanShowArgs};

/// Measure how much load a DynamoDB table accepts before it throttles, and whose limit that was.
///
/// Without an account: it runs on an embedded, simulated endpoint. Without a terminal: it runs the plan `quick` and
/// prints a summary.
#[derive(Debug, Parser)]
#[command(name = "throttlescope", version, args_conflicts_with_subcommands = true, max_term_width = 110)]
pub struct Cli {
    /// What to do; without it, `run`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure a table: live on a terminal, or without one.
    Run(Box<RunArgs>),
    /// Tell, before anything is spent, whether this machine can measure from here what a plan asks.
    ///
    /// Measures what a request costs this client, the round trip to the endpoint, the clock offset, open files and cores, and
    /// says what to change. It creates and writes nothing at the target: it asks it for DescribeTable, and offers its load to
    /// a simulated endpoint of its own. Takes about seven seconds. Exit code: 0 if this machine can, 1 if it cannot or if that
    /// could not be found out, 2 if the options do not fit together.
    Doctor(Box<DoctorArgs>),
    /// Show what the plans offer: windows, duration, operations, worst-case cost.
    Plan {
        /// Which.
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// Render a session document, or the journal of a session, again.
    Report(ReportArgs),
    /// Set sessions beside each other: what differs, whether that is significant, and which limit each met.
    ///
    /// A difference is called when it is at least 0.5 % and significant among all that are asked about. With three files or more
    /// that treated their tables alike, the spread between the tables follows. Exit code: 3 if an --expect is not met, 2 if a
    /// file cannot be read.
    Compare(CompareArgs),
    /// Play a recorded session on the same screen: pause, seek, up to 64 times as fast.
    Replay(ReplayArgs),
    /// Serve the simulated endpoint alone, for other clients.
    Embedded(EmbeddedArgs),
    /// Print shell completions.
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
}

/// Options of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A journal (.jsonl): exact. Or a session document (.json): as far as it tells.
    pub file: PathBuf,
    /// Seconds of the session per second.
    #[arg(long, value_name = "1..64", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub speed: u32,
    /// Start this far into the session: 90s, 5m.
    #[arg(long, value_name = "DUR", value_parser = parse_span, default_value = "0s")]
    pub from: Duration,
    /// How the screen looks.
    #[command(flatten)]
    pub look: LookArgs,
}

/// How the screen looks.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Screen")]
pub struct LookArgs {
    /// Symbols of charts; auto is braille in a UTF-8 locale, else ASCII.
    #[arg(long, value_enum, default_value = "auto")]
    pub glyphs: GlyphsArg,
    /// Colours; auto follows the terminal and NO_COLOR.
    #[arg(long, value_enum, default_value = "auto")]
    pub theme: ThemeArg,
}

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A session document (.json) or journal (.jsonl).
    pub file: PathBuf,
    /// How to render it.
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportFormat,
    /// Where to write it; standard output without.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long)]
    pub force: bool,
    /// What must hold of the session, else the exit code is 3: "sustained_per_s >= 3960 && p99_ms < 20". Repeatable.
    #[arg(long, value_name = "EXPR", value_parser = super::compare::expectation)]
    pub expect: Vec<Expectation>,
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The session that the others are compared with: a document (.json) or journal (.jsonl).
    pub base: PathBuf,
    /// The others.
    #[arg(required = true)]
    pub new: Vec<PathBuf>,
    /// How to render it.
    #[arg(long, value_enum, default_value = "text")]
    pub format: CompareFormat,
    /// What must hold of each NEW, else the exit code is 3: "new.sustained_per_s >= 0.99 * base.sustained_per_s". Repeatable.
    #[arg(long, value_name = "EXPR", value_parser = super::compare::expectation_of_two)]
    pub expect: Vec<Expectation>,
}

/// Renderings of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Text, as one pastes it into a chat.
    Text,
    /// Markdown tables.
    Md,
    /// JSON.
    Json,
}

/// Renderings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// The summary, as one pastes it into a chat.
    Text,
    /// Tables for a reference page, in Markdown.
    Md,
    /// One page with charts that needs no network.
    Html,
    /// Second by second, one row per bucket; units are in the column names.
    Csv,
    /// One row per window: ledger, rates, latencies, verdict, caveats.
    CsvWindows,
    /// The session document.
    Json,
    /// Full latency distributions as an HdrHistogram interval log (V2): microseconds, one interval per window, outcome and latency.
    Hlog,
    /// A limits page in Markdown, to be pasted into documentation.
    Limits,
}

/// Options of `doctor`: those of `run` that say what would be offered, and to what.
#[derive(Debug, Args)]
#[command(
    mut_arg("plan", |arg| arg.help("The plan to examine for: a name of `throttlescope plan list`, or a TOML file. Default: quick")),
    mut_arg("headless", |arg| arg.hide(true)),
    mut_arg("out", |arg| arg.hide(true)),
    mut_arg("force", |arg| arg.hide(true)),
    mut_arg("step", |arg| arg.hide(true)),
    mut_arg("client", |arg| arg.hide(true)),
    mut_arg("expect", |arg| arg.hide(true)),
    mut_arg("repeat", |arg| arg.hide(true)),
    mut_arg("metrics_listen", |arg| arg.hide(true)),
    mut_arg("metrics_allow_remote", |arg| arg.hide(true)),
    mut_arg("glyphs", |arg| arg.hide(true)),
    mut_arg("theme", |arg| arg.hide(true))
)]
pub struct DoctorArgs {
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// Options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Options of `embedded`.
#[derive(Debug, Args)]
pub struct EmbeddedArgs {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1:8000")]
    pub listen: SocketAddr,
    /// Options of the simulation.
    #[command(flatten)]
    pub simulation: SimulationArgs,
    /// Allow an address that other machines can reach.
    #[arg(long)]
    pub allow_remote: bool,
    /// End with whoever holds the other end of standard input.
    #[arg(long, hide = true)]
    pub until_stdin_ends: bool,
}

/// Options of the simulated endpoint.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Simulated endpoint")]
pub struct SimulationArgs {
    /// fresh, provisioned, warm, null, or a TOML file.
    #[arg(long, value_name = "NAME|FILE", default_value = "fresh")]
    pub embedded_profile: String,
    /// Speed up activation, deletion and splits by this factor; never the load.
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub embedded_time_scale: f64,
    /// Seed of its latencies.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub embedded_seed: u64,
}

/// Options of `run`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct RunArgs {
    /// Run a plan: a name of `throttlescope plan list`, or a TOML file.
    #[arg(long, value_name = "NAME|FILE")]
    pub plan: Option<String>,
    /// Run without a screen: one status line a second on standard error.
    #[arg(long)]
    pub headless: bool,
    /// Where the session document goes; `-` is standard output. Default: ./throttlescope-SESSION.json
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace an existing document.
    #[arg(long)]
    pub force: bool,
    /// What must hold at the end, else the exit code is 3: "sustained_per_s >= 3960 && p99_ms < 20". Repeatable.
    #[arg(long, value_name = "EXPR", value_parser = super::compare::expectation)]
    pub expect: Vec<Expectation>,
    /// Run the plan on N fresh tables, one after the other, without a screen, and report the spread between them; guards
    /// hold over all of them, `--out x.json` gives x-1.json and so on, and seeds count up from --seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub repeat: Option<u32>,
    /// Serve what is measured at http://ADDR/metrics for Prometheus while it runs: 127.0.0.1:9464.
    #[arg(long, value_name = "ADDR")]
    pub metrics_listen: Option<SocketAddr>,
    /// Allow an address for metrics that other machines can reach.
    #[arg(long, requires = "metrics_listen")]
    pub metrics_allow_remote: bool,

    /// What to measure.
    #[arg(long, value_enum, help_heading = "Target")]
    pub target: Option<TargetArg>,
    /// A DynamoDB-compatible server; implies `--target endpoint`.
    #[arg(long, value_name = "URL", help_heading = "Target")]
    pub endpoint_url: Option<String>,
    /// AWS region; else from the environment or the profile.
    #[arg(long, help_heading = "Target")]
    pub region: Option<String>,
    /// Profile of the AWS configuration.
    #[arg(long, help_heading = "Target")]
    pub profile: Option<String>,
    /// Measure this existing table; it is never created or deleted.
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    pub table: Option<String>,
    /// Allow writing to the existing table.
    #[arg(long, requires = "table", help_heading = "Target")]
    pub write_to_existing: bool,
    /// on-demand, or provisioned:W,R in units per second.
    #[arg(long, value_name = "MODE", default_value = "on-demand", help_heading = "Target")]
    pub billing: Billing,
    /// Ask for this WarmThroughput: write and read units per second.
    #[arg(long, value_name = "W,R", value_parser = pair, help_heading = "Target")]
    pub warm: Option<(u32, u32)>,
    /// Ask for these OnDemandThroughput maximums: write and read units per second.
    #[arg(long, value_name = "W,R", value_parser = pair, help_heading = "Target")]
    pub max_units: Option<(u32, u32)>,

    /// wire (lean HTTP) or sdk (aws-sdk-dynamodb without retries: what an application would see).
    #[arg(long, value_name = "NAME", default_value = "wire", help_heading = "Load")]
    pub client: Client,
    /// write or read.
    #[arg(long, default_value = "write", help_heading = "Load")]
    pub op: Op,
    /// Offered rate to start with, operations per second: 2500 or 2.5k.
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub rate: Option<Rate>,
    /// How far one key press steps the rate.
    #[arg(long, value_name = "N", default_value = "500", help_heading = "Load")]
    pub step: Rate,
    /// Offer the rate for this long, then stop: 30s, 5m.
    #[arg(long, value_name = "DUR", value_parser = parse_span, help_heading = "Load")]
    pub window: Option<Duration>,
    /// How close the search of a plan such as find-ceiling brings its bracket, as a share: 0.01 is 1 %.
    #[arg(long, value_name = "SHARE", value_parser = precision, help_heading = "Load")]
    pub precision: Option<f64>,
    /// Item size in bytes: names and values.
    #[arg(long, value_name = "N", value_parser = item_bytes, help_heading = "Load")]
    pub item_bytes: Option<u32>,
    /// uniform, sequential, hot, or zipf:S.
    #[arg(long, value_name = "DIST", help_heading = "Load")]
    pub keys: Option<Keys>,
    /// Items seeded for reads. Default: 1000, or what the plan says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "Load")]
    pub items: Option<u64>,
    /// Read with strong consistency.
    #[arg(long, help_heading = "Load")]
    pub consistent_read: bool,
    /// Seed of keys.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    pub seed: u64,
    /// Request timeout, connecting included.
    #[arg(long, value_name = "DUR", default_value = "8s", value_parser = timeout, help_heading = "Load")]
    pub timeout: Duration,
    /// Intents later than this are shed.
    #[arg(long, value_name = "DUR", default_value = "100ms", value_parser = late_limit, help_heading = "Load")]
    pub late_limit: Duration,
    /// Most requests in flight. Default: 4096, or what the open-file limit allows.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_IN_FLIGHT)), help_heading = "Load")]
    pub max_in_flight: Option<u32>,
    /// Load threads. Default: cores less one, at least one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Load")]
    pub shards: Option<u32>,

    /// Stop before more operations than this are offered.
    #[arg(long, value_name = "N", help_heading = "Guards")]
    pub max_ops: Option<u64>,
    /// Stop before more money than this is spent, USD. Default on AWS: 5
    #[arg(long, value_name = "USD", value_parser = money, help_heading = "Guards")]
    pub max_cost: Option<f64>,
    /// Stop after this long. Default on AWS: 1h
    #[arg(long, value_name = "DUR", value_parser = parse_span, help_heading = "Guards")]
    pub max_duration: Option<Duration>,
    /// Price of a million write request units, USD, where the region's is not known.
    #[arg(long, value_name = "USD", value_parser = money, requires = "price_read", help_heading = "Guards")]
    pub price_write: Option<f64>,
    /// Price of a million read request units, USD, where the region's is not known.
    #[arg(long, value_name = "USD", value_parser = money, requires = "price_write", help_heading = "Guards")]
    pub price_read: Option<f64>,

    /// Symbols of charts; auto is braille in a UTF-8 locale, else ASCII.
    #[arg(long, value_enum, default_value = "auto", help_heading = "Screen")]
    pub glyphs: GlyphsArg,
    /// Colours; auto follows the terminal and NO_COLOR.
    #[arg(long, value_enum, default_value = "auto", help_heading = "Screen")]
    pub theme: ThemeArg,

    /// Options of the simulation.
    #[command(flatten)]
    pub simulation: SimulationArgs,

    /// Panic in a load thread after this long.
    #[cfg(debug_assertions)]
    #[arg(long, hide = true, value_parser = parse_span)]
    pub panic_after: Option<Duration>,
}

/// Targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TargetArg {
    /// The simulated endpoint in this process: no account, no network.
    Embedded,
    /// Real DynamoDB, with the standard credential and region chain.
    Aws,
    /// The server at `--endpoint-url`.
    Endpoint,
}

/// Symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GlyphsArg {
    /// By locale.
    Auto,
    /// Braille dots.
    Braille,
    /// Block elements.
    Block,
    /// Plain ASCII.
    Ascii,
}

/// Colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThemeArg {
    /// By terminal and NO_COLOR.
    Auto,
    /// 256 colours.
    #[value(name = "256")]
    Colours256,
    /// 16 colours.
    #[value(name = "16")]
    Colours16,
    /// None.
    Mono,
}

impl From<GlyphsArg> for GlyphChoice {
    fn from(typed: GlyphsArg) -> Self {
        match typed {
            GlyphsArg::Auto => Self::Auto,
            GlyphsArg::Braille => Self::Braille,
            GlyphsArg::Block => Self::Block,
            GlyphsArg::Ascii => Self::Ascii,
        }
    }
}

impl From<ThemeArg> for ThemeChoice {
    fn from(typed: ThemeArg) -> Self {
        match typed {
            ThemeArg::Auto => Self::Auto,
            ThemeArg::Colours256 => Self::Dark256,
            ThemeArg::Colours16 => Self::Ansi16,
            ThemeArg::Mono => Self::Mono,
        }
    }
}
