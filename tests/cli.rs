//! The command line: what it says when it is asked, and what it says instead when it is asked for what cannot be.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::process::{Command, Output, Stdio};

fn throttlescope(line: &str) -> Output {
    let state = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_throttlescope"))
        .args(line.split_whitespace())
        .current_dir(state.path())
        .env("XDG_STATE_HOME", state.path())
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn help_lists_every_option_with_what_it_is_for() {
    // What only a debug build has is not part of the promise.
    let help = out(&throttlescope("run --help"));
    insta::assert_snapshot!("run_help", help);
    insta::assert_snapshot!("help", out(&throttlescope("--help")).split("Target:").next().unwrap());
}

#[test]
fn bad_input_ends_with_code_2_and_one_sentence_before_anything_is_created() {
    for (line, part) in [
        ("--plan celing", "type one of quick"),
        ("run --rate 0", "pause it instead"),
        ("run --rate=-1", "at least 0.001/s"),
        ("run --rate 1e99", "largest rate"),
        ("run --window 0s", "at least a second"),
        ("run --target aws --region mars", "us-east-1"),
        ("run --endpoint-url nonsense", "http://127.0.0.1:8000"),
        ("run --out /", "is a directory"),
        ("run --out /no/such/place/x.json", "not there"),
        ("run --unknown", "--unknown"),
        ("plan show celing", "type one of quick"),
        ("report /no/such/file", "/no/such/file"),
        ("embedded --listen 0.0.0.0:0", "--allow-remote"),
        ("embedded --embedded-profile nothing", "fresh"),
    ] {
        let output = throttlescope(line);
        let said = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(part), "{line}: {said}");
        assert!(out(&output).is_empty(), "{line}");
    }
}

#[test]
fn missing_credentials_are_one_sentence_that_says_what_to_do() {
    let state = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_throttlescope"))
        .args(["run", "--target", "aws", "--region", "us-east-1", "--plan", "quick"])
        .current_dir(state.path())
        .env_clear()
        .env("XDG_STATE_HOME", state.path())
        .env("HOME", state.path())
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("AWS_ACCESS_KEY_ID") && said.contains("--target embedded"), "{said}");
}

#[test]
fn a_plan_says_what_it_will_offer_and_what_it_may_cost() {
    let shown = out(&throttlescope("plan show ceiling"));
    for part in ["870,000 operations", "7 windows, 3m48s", "at most $0.54 in us-east-1"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(out(&throttlescope("plan show ceiling --region mars-1")).contains("not known"));
    assert!(out(&throttlescope("plan list")).lines().count() >= 6);
    assert!(out(&throttlescope("plan show quick --toml")).contains("rates = ["));
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(out(&throttlescope(&format!("completions {shell}"))).contains("embedded"), "{shell}");
    }
}
