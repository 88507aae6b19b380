//! Where a program runs and what it leaves there.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_throttlescope");

/// A directory of its own to work and to keep state in.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        for part in ["work", "state"] {
            std::fs::create_dir(dir.path().join(part)).expect("a directory");
        }
        Self { dir }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// A file with this text.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    /// Everything a program finds in its environment.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let state = self.dir.path().join("state").display().to_string();
        let home = self.dir.path().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        vec![
            ("PATH", path),
            ("HOME", home),
            ("XDG_STATE_HOME", state),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
        ]
    }

    /// Files that the working directory holds whose names end so.
    pub(crate) fn written(&self, ending: &str) -> Vec<PathBuf> {
        ending_in(&self.work(), ending)
    }

    /// The journal, once there is one.
    pub(crate) fn journal(&self) -> Option<PathBuf> {
        ending_in(&self.dir.path().join("state").join("throttlescope"), ".jsonl").pop()
    }

    /// What the journal says so far.
    pub(crate) fn journal_text(&self) -> String {
        self.journal().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
    }

    /// The one session document of the working directory, checked against the published schema.
    pub(crate) fn document(&self) -> Value {
        let documents = self.written(".json");
        assert_eq!(documents.len(), 1, "not one document: {documents:?}");
        valid(&std::fs::read_to_string(&documents[0]).expect("a document"))
    }

    /// What `throttlescope report` makes of the journal, in this format.
    pub(crate) fn reported(&self, format: &str) -> String {
        let journal = self.journal().expect("a journal");
        let done = self.run(&["report", &journal.display().to_string(), "--format", format]);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("UTF-8")
    }

    /// A command without a terminal, run to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(self.work()).env_clear().envs(self.environment()).stdin(Stdio::null());
        command.output().expect("the program")
    }
}

fn ending_in(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.display().to_string().ends_with(ending)).collect();
    found.sort();
    found
}

/// A session document that holds to its schema.
pub(crate) fn valid(text: &str) -> Value {
    let schema = serde_json::from_str(include_str!("../../assets/session.schema.json")).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let document: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("no JSON: {error}: {text}"));
    let wrong: Vec<String> = schema.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(document["schema"], "throttlescope.session/1");
    document
}
