//! What was typed after `plan`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::values::item_bytes;
use crate::load::{Op, Rate};
use crate::plan::parse_span;

/// What to show of plans.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// The shipped plans.
    List,
    /// One plan, window by window: what it offers, how long it takes and what it costs at most.
    Show(PlanShowArgs),
    /// Turn a session, also one that was steered by hand, into a plan that offers the same again.
    Save(PlanSaveArgs),
    /// Tell whether a launch will throttle, and when first; what to ask for beforehand, and how to test it.
    ///
    /// Reckons with what a session measured, else with the documented figures of a fresh on-demand table. Offers nothing and asks
    /// nobody.
    Launch(Box<LaunchArgs>),
}

/// Options of `plan launch`.
#[derive(Debug, Args)]
pub struct LaunchArgs {
    /// The rate that the launch reaches, operations per second: 10000 or 10k.
    #[arg(long, value_name = "N")]
    pub target_rate: Rate,
    /// How long it takes to get there: 10m; 0s for at once.
    #[arg(long, value_name = "DUR", value_parser = parse_span)]
    pub ramp: Duration,
    /// The rate it starts from. Default: none
    #[arg(long, value_name = "N")]
    pub from: Option<Rate>,
    /// How long the rate is held then.
    #[arg(long, value_name = "DUR", value_parser = parse_span, default_value = "10m")]
    pub hold: Duration,
    /// write or read. Default: what the session measured, else write
    #[arg(long)]
    pub op: Option<Op>,
    /// Item size in bytes: names and values. Default: the session's, else 1000
    #[arg(long, value_name = "N", value_parser = item_bytes)]
    pub item_bytes: Option<u32>,
    /// Read with strong consistency.
    #[arg(long)]
    pub consistent_read: bool,
    /// Reckon with what this session measured: its document (.json) or journal (.jsonl).
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// Region whose prices are used.
    #[arg(long, default_value = "us-east-1")]
    pub region: String,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// Write the launch as a plan, to test it with `run --plan`.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long)]
    pub force: bool,
}

/// Options of `plan show`.
#[derive(Debug, Args)]
pub struct PlanShowArgs {
    /// Name of a shipped plan, or a TOML file.
    pub plan: String,
    /// Print its TOML instead, to start your own from.
    #[arg(long)]
    pub toml: bool,
    /// Region whose prices are used.
    #[arg(long, default_value = "us-east-1")]
    pub region: String,
}

/// Options of `plan save`.
#[derive(Debug, Args)]
pub struct PlanSaveArgs {
    /// A session document (.json) or journal (.jsonl).
    pub session: PathBuf,
    /// Name of the plan. Default: that of the session, for example from-ts-7f3a09
    #[arg(long)]
    pub name: Option<String>,
    /// Where to write it; standard output without.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long)]
    pub force: bool,
}
