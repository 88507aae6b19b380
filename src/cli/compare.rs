//! `compare`, and expectations of documents.

use std::path::{Path, PathBuf};

use super::args::{CompareArgs, CompareFormat};
use super::{NOT_MET, Refusal, print, say};
use crate::report::compare::{self, Comparison, Side};
use crate::report::expect::{Expectation, Scope, Subjects};
use crate::report::{Document, load_document};

/// An expectation of one session, as typed.
pub(super) fn expectation(typed: &str) -> Result<Expectation, String> {
    Expectation::parse(typed, Scope::One).map_err(|e| e.to_string())
}

/// An expectation of two sessions, as typed.
pub(super) fn expectation_of_two(typed: &str) -> Result<Expectation, String> {
    Expectation::parse(typed, Scope::Two).map_err(|e| e.to_string())
}

/// Checks expectations and says how each fared. Returns the exit code that this amounts to. `of` names what they are about where
/// that is not plain.
pub(super) fn expected(expectations: &[Expectation], of: Option<&str>, subjects: Subjects<'_>) -> u8 {
    let mut code = 0;
    let of = of.map_or_else(String::new, |of| format!(" of {of}"));
    for expectation in expectations {
        let checked = expectation.check(subjects);
        let (said, plus) = if checked.is_met() { ("met", 0) } else { ("NOT MET", NOT_MET) };
        say(&format!("expected{of}: {said}\n"));
        for line in &checked.lines {
            say(&format!("  {line}\n"));
        }
        code = code.max(plus);
    }
    code
}

pub(super) fn compare(args: &CompareArgs) -> Result<u8, Refusal> {
    let paths: Vec<&PathBuf> = std::iter::once(&args.base).chain(&args.new).collect();
    let names = names(&paths);
    let documents: Vec<Document> = paths.iter().map(|path| load_document(path)).collect::<Result<_, _>>().map_err(Refusal::usage)?;
    let sides: Vec<Side<'_>> = names.iter().zip(&documents).map(|(name, document)| Side { name, document }).collect();
    let Some((base, others)) = sides.split_first() else { return Err(Refusal::usage("name two files to compare")) };
    print(&rendered(&compare::compare(base, others), args.format)?)?;
    let mut code = 0;
    for new in others {
        let of = format!("{} against {}", new.name, base.name);
        code = code.max(expected(&args.expect, Some(&of), Subjects::Two { base: base.document, new: new.document }));
    }
    Ok(code)
}

/// File names, or whole paths where two files have one name.
fn names(paths: &[&PathBuf]) -> Vec<String> {
    let short = |path: &Path| path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let alone = |name: &str| paths.iter().filter(|path| short(path) == name).count() == 1;
    paths.iter().map(|path| Some(short(path)).filter(|name| alone(name)).unwrap_or_else(|| path.display().to_string())).collect()
}

fn rendered(comparison: &Comparison, format: CompareFormat) -> Result<String, Refusal> {
    match format {
        CompareFormat::Text => Ok(compare::text(comparison)),
        CompareFormat::Md => Ok(compare::markdown(comparison)),
        CompareFormat::Json => serde_json::to_string_pretty(comparison)
            .map(|json| json + "\n")
            .map_err(|e| Refusal::failed(format!("the comparison cannot be written: {e}"))),
    }
}
