//! Requests against a server that verifies signatures and permissions: moto with authentication on.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use throttlescope::load::{Clock, FailureKind, Key, Keys, KindId, Lane as _, Op, Outcome, Request, Target as _, Workload};
use throttlescope::wire::{Endpoint, Identities, Identity, WireTarget};

use crate::support::{Ended, Guarded, PROGRAM, installed, measure_by, settings};

const TABLE: &str = "throttlescope-Judged_by.others-7";
/// An address for documentation, which a network of the test's own holds.
const ELSEWHERE: &str = "198.51.100.7";

/// The server, and the keys of a user with the permissions that the program needs and of one without any.
struct Judge {
    process: Guarded,
    url: String,
    keys: Value,
    _directory: tempfile::TempDir,
}

impl Judge {
    fn start(mut command: Command, address: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/moto_judge.py");
        command.arg("-B").arg(script).args([address, TABLE]);
        command.current_dir(directory.path()).envs(settings(directory.path()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Guarded(command.spawn().expect("moto starts"));
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().expect("its words")).read_line(&mut line).expect("a line");
        let keys: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Self { url: keys["url"].as_str().expect("an address").to_owned(), process, keys, _directory: directory }
    }

    fn identity(&self, user: &str) -> Identity {
        let part = |name: &str| self.keys[user][name].as_str().expect("a key").to_owned();
        Identity { access_key_id: part("id"), secret_access_key: part("secret"), session_token: None }
    }

    /// What becomes of a write and a read of the same item, on one connection each.
    fn asked(&self, identity: &Identity, region: &str) -> [Outcome; 2] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let workload = Workload::new(1_000, Keys::Uniform, 1, true, 1_000);
        let endpoint = Endpoint::parse(&self.url, region).expect("an endpoint");
        let mut target = WireTarget::new(endpoint, Identities::fixed(identity.clone()), TABLE, &workload);
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            let mut lane = target.lane();
            let write = lane.call(&Request::new(Op::Write, Key(42), KindId::FIRST, Clock::start())).await;
            let read = lane.call(&Request::new(Op::Read, Key(42), KindId::FIRST, Clock::start())).await;
            [write, read]
        })
    }
}

fn python() -> Option<std::ffi::OsString> {
    installed("THROTTLESCOPE_MOTO")
}

/// The error bodies are of another protocol, so that the status alone tells what was refused.
fn refused(outcomes: [Outcome; 2]) -> [Option<u16>; 2] {
    outcomes.map(|outcome| match outcome {
        Outcome::Failed(failure) if !failure.kind.in_transport() => failure.http_status,
        other => panic!("not refused: {other:?}"),
    })
}

#[test]
fn a_server_that_verifies_signatures_accepts_ours_and_refuses_a_wrong_secret_a_stranger_and_another_region() {
    let Some(python) = python() else { return };
    let judge = Judge::start(Command::new(python), "127.0.0.1");
    let user = judge.identity("user");
    for outcome in judge.asked(&user, "us-east-1") {
        assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
    }

    let mut secret = user.secret_access_key.clone();
    let last = if secret.pop() == Some('x') { 'y' } else { 'x' };
    let wrong = Identity { secret_access_key: secret + &last.to_string(), ..user.clone() };
    assert_eq!(refused(judge.asked(&wrong, "us-east-1")), [Some(403); 2]);
    assert_eq!(refused(judge.asked(&judge.identity("stranger"), "us-east-1")), [Some(403); 2]);
    let unknown = Identity { access_key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(), ..user.clone() };
    assert_eq!(refused(judge.asked(&unknown, "us-east-1")), [Some(403); 2]);

    // The signature's own scope says where: the same table is not there.
    for outcome in judge.asked(&user, "eu-central-1") {
        let Outcome::Failed(failure) = outcome else { panic!("accepted in another region: {outcome:?}") };
        assert_eq!((failure.kind, failure.http_status), (FailureKind::NotFound, Some(400)), "{failure:?}");
    }
}

/// A command in a network of its own, where addresses other than loopback stay on this machine; `None` where that is
/// not allowed.
fn in_own_network() -> Option<Command> {
    let ask = || {
        let mut command = Command::new("unshare");
        command.arg(if rustix::process::getuid().is_root() { "-n" } else { "-rn" }).args(["sh", "-c"]);
        command.arg(format!("ip link set lo up && ip addr add {ELSEWHERE}/32 dev lo && exec \"$@\"")).arg("sh");
        command
    };
    let able = ask().arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if able.is_ok_and(|status| status.success()) {
        return Some(ask());
    }
    writeln!(std::io::stderr(), "skipped: no network namespace can be made here").expect("standard error");
    None
}

/// A session in the judge's network, with credentials as anyone would give them.
fn session(judge: &Judge, identity: &Identity) -> Ended {
    let mut command = Command::new("nsenter");
    command.args(["--net", "--target", &judge.process.0.id().to_string()]);
    if !rustix::process::getuid().is_root() {
        command.args(["--user", "--preserve-credentials"]);
    }
    command.arg(PROGRAM);
    for (name, value) in [("AWS_ACCESS_KEY_ID", &identity.access_key_id), ("AWS_SECRET_ACCESS_KEY", &identity.secret_access_key)] {
        command.env(name, value);
    }
    let ended = measure_by(command, &judge.url, None, "--region us-east-1 --rate 20 --window 3s");
    for secret in [&identity.secret_access_key, &identity.access_key_id] {
        assert!(!ended.document.to_string().contains(secret) && !ended.said.contains(secret), "a key was written down");
    }
    ended
}

#[test]
fn a_session_with_no_more_than_the_listed_permissions_is_accepted_from_the_first_call_to_the_last() {
    let (Some(python), Some(mut command)) = (python(), in_own_network()) else { return };
    command.arg::<&OsStr>(python.as_ref());
    let judge = Judge::start(command, ELSEWHERE);
    let ended = session(&judge, &judge.identity("user"));
    ended.is_complete();
    assert_eq!((ended.total("accepted"), ended.total("failed")), (60, 0), "{}", ended.document["failures"]);
}
