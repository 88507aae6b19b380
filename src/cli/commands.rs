//! The commands that do not measure: plans, reports, the simulated endpoint, completions.

use std::path::Path;

use clap::CommandFactory as _;

use super::args::{Cli, EmbeddedArgs, PlanCommand, ReportArgs, ReportFormat};
use super::meant::simulation;
use super::{Refusal, print, say};
use crate::analysis::cost::{Prices, worst_case_usd};
use crate::load::{Op, thousands};
use crate::plan::{Plan, find, presets, show_span};
use crate::report::{self, Document, check_writable, load_document, write_bytes};

pub(super) fn plan(command: &PlanCommand) -> Result<u8, Refusal> {
    match command {
        PlanCommand::List => {
            for preset in presets() {
                print(&format!("{:<14} {:>8}  {}\n", preset.plan.name, show_span(preset.plan.duration()), preset.plan.about))?;
            }
        }
        PlanCommand::Show { plan, toml: true, .. } => {
            find(plan).map_err(Refusal::usage)?;
            let shipped = presets().iter().find(|preset| preset.plan.name == *plan).map(|preset| preset.text.to_owned());
            print(&shipped.map_or_else(|| std::fs::read_to_string(plan), Ok).map_err(|e| Refusal::failed(e.to_string()))?)?;
        }
        PlanCommand::Show { plan, region, .. } => print(&shown(&find(plan).map_err(Refusal::usage)?, region))?,
    }
    Ok(0)
}

fn shown(plan: &Plan, region: &str) -> String {
    let mut lines = format!("{}: {}\n\n  #  label         op     offered/s   length  pause before  operations\n", plan.name, plan.about);
    for (index, window) in plan.windows.iter().enumerate() {
        lines.push_str(&format!(
            "{:>3}  {:<12}  {:<5}  {:>9}  {:>7}  {:>12}  {:>10}\n",
            index + 1,
            window.label,
            window.op,
            window.rate,
            show_span(window.length),
            show_span(window.pause),
            thousands(window.rate.count_in(window.length)),
        ));
    }
    let bytes = plan.item_bytes.unwrap_or(1_000);
    lines.push_str(&format!(
        "\n{} windows, {}, {} operations of {bytes} bytes\n",
        plan.windows.len(),
        show_span(plan.duration()),
        thousands(plan.operations())
    ));
    lines.push_str(&match Prices::find(region) {
        Some(price) => {
            let cost: f64 =
                [Op::Write, Op::Read].into_iter().map(|op| worst_case_usd(plan.operations_of(op), op, bytes, false, price)).sum();
            format!("at most ${cost:.2} in {region} (prices of {})\n", Prices::shipped().as_of)
        }
        None => format!("the price in {region} is not known\n"),
    });
    lines
}

pub(super) fn report(args: &ReportArgs) -> Result<u8, Refusal> {
    let out = args.out.as_deref().filter(|out| *out != Path::new("-"));
    if let Some(out) = out {
        check_writable(out, args.force).map_err(|e| Refusal::usage(e.to_string()))?;
    }
    let document = load_document(&args.file).map_err(Refusal::usage)?;
    let rendered = rendered(&document, args.format).map_err(Refusal::failed)?;
    match out {
        None => print(&rendered)?,
        Some(out) => write_bytes(out, rendered.as_bytes(), args.force).map_err(|e| Refusal::failed(e.to_string()))?,
    }
    Ok(0)
}

fn rendered(document: &Document, format: ReportFormat) -> Result<String, String> {
    match format {
        ReportFormat::Text => Ok(report::text(document)),
        ReportFormat::Md => Ok(report::markdown(document)),
        ReportFormat::Html => report::html(document),
        ReportFormat::Csv => Ok(report::csv_buckets(document)),
        ReportFormat::CsvWindows => Ok(report::csv_windows(document)),
        ReportFormat::Hlog => report::hlog(document),
        ReportFormat::Limits => Ok(report::limits(document)),
        ReportFormat::Json => {
            serde_json::to_string_pretty(document).map(|json| json + "\n").map_err(|e| format!("the document cannot be written: {e}"))
        }
    }
}

pub(super) fn embedded(args: &EmbeddedArgs) -> Result<u8, Refusal> {
    if !args.listen.ip().is_loopback() && !args.allow_remote {
        return Err(Refusal::usage(format!(
            "{} can be reached from other machines, and the simulated endpoint checks no signature; listen on 127.0.0.1:{}, or add --allow-remote",
            args.listen,
            args.listen.port()
        )));
    }
    let config = simulation(&args.simulation, args.listen).map_err(Refusal::usage)?;
    let server = crate::embedded::start(config).map_err(|e| Refusal::failed(e.to_string()))?;
    say(&format!("simulated DynamoDB endpoint (SIMULATED, no data is kept) at {}; Ctrl-C ends it\n", server.url()));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| Refusal::failed(format!("cannot start: {e}")))?;
    let until_stdin_ends = args.until_stdin_ends;
    let ended = runtime.block_on(async {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut terminate, mut hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted,
            _ = terminate.recv() => Ok(()),
            _ = hang_up.recv() => Ok(()),
            _ = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())), if until_stdin_ends => Ok(()),
        }
    });
    // Standard input may never end.
    runtime.shutdown_background();
    server.stop();
    ended.map(|()| 0).map_err(|e: std::io::Error| Refusal::failed(format!("signals cannot be handled: {e}")))
}

pub(super) fn completions(shell: clap_complete::Shell) -> Result<u8, Refusal> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "throttlescope", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
