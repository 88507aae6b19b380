//! boto3 against the simulated endpoint that the program serves.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Guarded, PROGRAM, installed, settings, wait_for};

#[test]
fn boto3_gets_from_the_simulated_endpoint_what_dynamodb_would_give_it() {
    let Some(python) = installed("THROTTLESCOPE_PYTHON") else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let start = |command: &mut Command, name: &str| {
        let path = directory.path().join(name);
        let said = File::create(&path).expect("a file");
        command.current_dir(directory.path()).envs(settings(directory.path())).stdin(Stdio::null());
        command.stdout(said.try_clone().expect("a file")).stderr(said);
        (Guarded(command.spawn().expect("a child")), path)
    };
    let mut serving = Command::new(PROGRAM);
    serving.args(["embedded", "--listen", "127.0.0.1:0", "--embedded-time-scale", "2"]);
    let (mut server, server_said) = start(&mut serving, "server");
    let url = wait_for("the endpoint's address", || {
        let said = std::fs::read_to_string(&server_said).expect("a file");
        assert!(server.0.try_wait().expect("a child").is_none(), "{said}");
        let (_, rest) = said.split_once("http://")?;
        rest.split_once(';').map(|(address, _)| format!("http://{address}"))
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/boto3_embedded.py");
    let mut asking = Command::new(python);
    asking.arg("-B").arg(script).arg(url);
    let (mut client, client_said) = start(&mut asking, "client");
    let status = client.end("boto3");
    let said = std::fs::read_to_string(client_said).expect("what it said");
    assert!(status.success(), "{said}");
    let passed = said.trim().strip_suffix(" passed").and_then(|count| count.rsplit(' ').next()?.parse::<u32>().ok());
    assert!(passed.is_some_and(|count| count > 20), "{said}");
}
