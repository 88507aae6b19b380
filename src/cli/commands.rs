//! The commands that do not measure: plans, reports, the simulated endpoint, completions.

use std::path::Path;

use clap::CommandFactory as _;

use super::args::{Cli, EmbeddedArgs, PlanCommand, ReportArgs, ReportFormat};
use super::compare::expected;
use super::meant::simulation;
use super::{Refusal, plans, print, say};
use crate::plan::{presets, show_span};
use crate::report::expect::Subjects;
use crate::report::{self, Document, check_writable, load_document, write_bytes};

pub(super) fn plan(command: &PlanCommand) -> Result<u8, Refusal> {
    match command {
        PlanCommand::List => {
            for preset in presets() {
                print(&format!("{:<14} {:>8}  {}\n", preset.plan.name, show_span(preset.plan.duration()), preset.plan.about))?;
            }
        }
        PlanCommand::Launch(args) => super::launch::launch(args)?,
        PlanCommand::Show(args) => plans::show(args)?,
        PlanCommand::Save(args) => plans::save(args)?,
    }
    Ok(0)
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
    Ok(expected(&args.expect, None, Subjects::One(&document)))
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
