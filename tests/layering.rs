//! The boundaries between modules, read from their `use` lines and paths: what may import what, and who alone may name what.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::path::{Path, PathBuf};

/// What each module may name of the crate. A module that is not listed may name anything.
const ALLOWED: &[(&str, &[&str])] = &[
    ("load", &[]),
    ("embedded", &[]),
    ("analysis", &["load"]),
    ("plan", &["load::keys", "load::op", "load::rate", "load::share", "load::workload"]),
    ("wire", &["load"]),
    ("doctor", &["load", "wire"]),
    ("sdk", &["load", "wire::Identities", "wire::Identity", "wire::classify"]),
    ("report", &["load", "analysis"]),
    ("table", &["load", "wire::Identity"]),
    ("tui", &["load", "analysis", "report", "plan", "session::remote", "session::Remote", "session::Command"]),
];

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn name(path: &Path) -> String {
    path.strip_prefix(src()).unwrap().display().to_string()
}

/// Code only: tests may build what they test with anything, and comments may name anything.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Every path of the crate that a text names, with groups spelled out: `crate::a::{b, c}` names `a::b` and `a::c`.
fn named(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        expand("", &text[at + "crate::".len()..], &mut paths);
    }
    paths
}

fn expand(prefix: &str, rest: &str, paths: &mut Vec<String>) {
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
    let path = format!("{prefix}{}", &rest[..end]);
    let Some(group) = rest[end..].strip_prefix('{') else {
        paths.push(path.trim_end_matches(':').to_owned());
        return;
    };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                expand(&path, group[start..at].trim(), paths);
                return;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&path, group[start..at].trim(), paths);
                start = at + 1;
            }
            _ => {}
        }
    }
}

#[test]
fn modules_import_only_what_the_design_allows() {
    let mut wrong = Vec::new();
    for (module, allowed) in ALLOWED {
        for file in sources(&src().join(module)) {
            for path in named(&code(&file)) {
                let own = path == *module || path.starts_with(&format!("{module}::"));
                let fits = allowed.iter().any(|allowed| path == *allowed || path.starts_with(&format!("{allowed}::")));
                if !own && !fits && !path.is_empty() {
                    wrong.push(format!("{} names crate::{path}", name(&file)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_control_plane_and_the_sdk_client_name_the_aws_sdk() {
    let allowed = ["table/", "sdk/", "fleet/"];
    let wrong: Vec<String> = sources(&src())
        .iter()
        .filter(|file| !allowed.iter().any(|dir| name(file).starts_with(dir)) && code(file).contains("aws_sdk_"))
        .map(|file| name(file))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn only_the_terminal_writes_escape_codes_only_the_theme_names_colours_and_only_glyphs_names_symbols() {
    let mut wrong = Vec::new();
    for file in sources(&src()) {
        let (file_name, text) = (name(&file), code(&file));
        if file_name.starts_with("tui/tests") || file_name == "tui/fixtures.rs" {
            continue;
        }
        let escapes = text.contains("\\x1b")
            || text.contains("crossterm::execute")
            || text.contains("crossterm::terminal")
            || text.contains("crossterm::cursor");
        if escapes && file_name != "tui/terminal.rs" {
            wrong.push(format!("{file_name} writes escape codes"));
        }
        if text.contains("Color::") && file_name != "tui/theme.rs" {
            wrong.push(format!("{file_name} names a colour"));
        }
        if file_name.starts_with("tui/") && file_name != "tui/glyphs.rs" && !text.is_ascii() {
            wrong.push(format!("{file_name} names a symbol"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_source_file_outgrows_its_noun() {
    let long: Vec<String> = sources(&src())
        .iter()
        .map(|file| (name(file), std::fs::read_to_string(file).unwrap().lines().count()))
        .filter(|(_, lines)| *lines > 500)
        .map(|(file, lines)| format!("{file}: {lines}"))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn nothing_in_the_load_engine_knows_files_processes_or_the_command_line() {
    for file in sources(&src().join("load")) {
        let text = code(&file);
        for word in ["std::fs", "std::env", "std::process", "clap", "aws_", "ratatui", "hyper"] {
            assert!(!text.contains(word), "{} names {word}", name(&file));
        }
    }
}
