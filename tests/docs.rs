//! The documents say what is so: keys, links, plan names, and the tests that ARCHITECTURE.md names.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::path::{Path, PathBuf};

use clap::CommandFactory as _;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found
}

/// `THROTTLESCOPE_UPDATE_DOCS=1 cargo test --test docs` writes the table into the README.
#[test]
fn the_readme_lists_the_keys_of_the_keymap() {
    let readme = read("README.md");
    let start = readme.find("<!-- keys:").and_then(|at| readme[at..].find("-->\n").map(|end| at + end + 4)).expect("the start of the keys");
    let end = readme.find("<!-- /keys -->").expect("the end of the keys");
    let keys = throttlescope::tui::keys_markdown();
    if std::env::var_os("THROTTLESCOPE_UPDATE_DOCS").is_some() {
        std::fs::write(root().join("README.md"), format!("{}{keys}{}", &readme[..start], &readme[end..])).unwrap();
        return;
    }
    assert_eq!(&readme[start..end], keys, "write it with THROTTLESCOPE_UPDATE_DOCS=1");
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let mut documents: Vec<PathBuf> = files(&root().join("docs"), "md");
    documents.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root().join(name)));
    let mut broken = Vec::new();
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            let file = target.split('#').next().unwrap();
            if !file.is_empty() && !file.starts_with("http") && !document.parent().unwrap().join(file).exists() {
                broken.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_invariant_of_the_architecture_names_a_test_that_exists() {
    let architecture = read("ARCHITECTURE.md");
    let mut sources = files(&root().join("src"), "rs");
    sources.extend(files(&root().join("tests"), "rs"));
    let code: String = sources.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let named: Vec<&str> = architecture
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.matches('_').count() >= 3 && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'))
        .collect();
    assert!(named.len() >= 15, "{named:?}");
    let missing: Vec<&&str> = named.iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_options_that_documents_mention_exist() {
    let mut known: Vec<String> = vec!["--release".to_owned(), "--path".to_owned(), "--table-name".to_owned(), "--quick".to_owned()];
    let command = throttlescope::cli::args::Cli::command();
    let mut commands = vec![&command];
    while let Some(command) = commands.pop() {
        known.extend(command.get_arguments().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}")));
        commands.extend(command.get_subcommands());
    }
    let mut documents: Vec<PathBuf> = files(&root().join("docs"), "md");
    documents.push(root().join("README.md"));
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for line in text.lines().filter(|line| line.contains("throttlescope") || line.starts_with("scripts/")) {
            for word in
                line.split(|c: char| c.is_whitespace() || c == '`' || c == '=').filter(|word| word.starts_with("--") && word.len() > 3)
            {
                let word = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
                assert!(known.iter().any(|known| known == word), "{}: {word}", document.display());
            }
        }
    }
}

#[test]
fn the_repository_names_no_registry_host() {
    let hosts = ["crates.io/", "pypi.org", "registry.npmjs", "deb.debian.org", "static.rust-lang.org"];
    let mut checked = files(&root().join("src"), "rs");
    checked.extend(files(&root().join("docs"), "md"));
    checked.extend(
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "Cargo.toml", "scripts/test", "scripts/install-peers", ".ci/run"]
            .map(|name| root().join(name)),
    );
    for path in checked {
        let text = std::fs::read_to_string(&path).unwrap();
        for host in hosts {
            assert!(!text.contains(host), "{}: {host}", path.display());
        }
    }
}
