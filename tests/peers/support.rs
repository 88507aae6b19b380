//! What the tests share: peers as child processes, the program as a child process, and what every session document must
//! say.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than anything here takes, on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A child process that does not outlive its test.
pub(crate) struct Guarded(pub(crate) Child);

impl Guarded {
    /// Waits for its end.
    pub(crate) fn end(&mut self, what: &str) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().expect("a child") {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} did not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Waits until something holds.
pub(crate) fn wait_for<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = there() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "never saw {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Where a peer is, or `None` with a word that its test is skipped.
pub(crate) fn installed(variable: &str) -> Option<OsString> {
    let found = std::env::var_os(variable).filter(|path| Path::new(path).exists());
    if found.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{variable} names no program, and CI=true: run scripts/install-peers");
        // Straight to the stream: what a passing test prints by macro is not shown.
        let said = writeln!(std::io::stderr(), "skipped: {variable} names no program; scripts/install-peers installs it");
        said.expect("standard error");
    }
    found
}

/// A third-party server on a port of its own.
pub(crate) struct Peer {
    pub(crate) url: String,
    address: SocketAddr,
    _process: Guarded,
    _directory: tempfile::TempDir,
}

impl Peer {
    /// dynalite, whose tables take half a second to become ACTIVE and half a second to go.
    pub(crate) fn dynalite() -> Option<Self> {
        let program = installed("THROTTLESCOPE_DYNALITE")?;
        Some(Self::start(|port, _| {
            let mut node = Command::new("node");
            node.arg(&program).args(["--host", "127.0.0.1", "--port", port, "--createTableMs", "500", "--deleteTableMs", "500"]);
            node
        }))
    }

    /// dynoxide, with its tables in memory.
    pub(crate) fn dynoxide() -> Option<Self> {
        let program = installed("THROTTLESCOPE_DYNOXIDE")?;
        Some(Self::start(|port, _| {
            let mut dynoxide = Command::new(&program);
            dynoxide.args(["serve", "--host", "127.0.0.1", "--port", port]);
            dynoxide
        }))
    }

    /// A server that is started with a port to listen on and a directory of its own to work in.
    pub(crate) fn start(command: impl Fn(&str, &Path) -> Command) -> Self {
        // Somebody else may take the port between the choice and the start.
        for _ in 0..5 {
            let directory = tempfile::tempdir().expect("a directory");
            let address = free_address();
            let mut command = command(&address.port().to_string(), directory.path());
            command.current_dir(directory.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut process = Guarded(command.spawn().expect("the peer starts"));
            let up = wait_for("the peer's first answer, or its end", || match process.0.try_wait().expect("a child") {
                Some(_) => Some(false),
                None => try_call(address, "ListTables", "{}").is_ok_and(|(status, _)| status == 200).then_some(true),
            });
            if up && process.0.try_wait().expect("a child").is_none() {
                return Self { url: format!("http://{address}"), address, _process: process, _directory: directory };
            }
        }
        panic!("the peer ended five times without an answer");
    }

    /// The tables that are there.
    pub(crate) fn tables(&self) -> Vec<String> {
        let (status, body) = try_call(self.address, "ListTables", "{}").expect("an answer");
        let answer: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(status, 200, "{answer}");
        let names = answer["TableNames"].as_array().expect("a list");
        names.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
    }
}

/// An address that nothing listens on, a different one each time.
fn free_address() -> SocketAddr {
    static GIVEN: LazyLock<Mutex<HashSet<u16>>> = LazyLock::new(Mutex::default);
    loop {
        let address = TcpListener::bind(("127.0.0.1", 0)).expect("a port").local_addr().expect("an address");
        if GIVEN.lock().expect("no panic").insert(address.port()) {
            return address;
        }
    }
}

/// One control-plane call without the help of any library: status and body.
fn try_call(address: SocketAddr, operation: &str, body: &str) -> std::io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    // Nobody checks the signature, but some want one of the right form.
    let request = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
         X-Amz-Date: 20260101T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=host;x-amz-date;x-amz-target, Signature=0\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let status = String::from_utf8_lossy(&answer[..end]).split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(std::io::ErrorKind::InvalidData)?, answer[end + 4..].to_vec()))
}

/// The program, told to keep its files in `directory` and to find nothing of the machine's configuration.
pub(crate) fn settings(directory: &Path) -> Vec<(&'static str, OsString)> {
    let mut settings: Vec<(&'static str, OsString)> = ["XDG_STATE_HOME", "HOME"].map(|name| (name, directory.into())).into();
    settings.extend([("AWS_EC2_METADATA_DISABLED", "true".into()), ("RUST_BACKTRACE", "0".into())]);
    settings
}

/// The binary under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_throttlescope");

/// What a session without a screen left.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
    pub(crate) took: Duration,
    pub(crate) document: Value,
}

/// Runs a session without a screen to its end. `plan` is the TOML of a plan; the rest is typed.
pub(crate) fn measure(url: &str, plan: Option<&str>, typed: &str) -> Ended {
    measure_by(Command::new(PROGRAM), url, plan, typed)
}

/// Runs a session to its end by a command that is given what is typed after the program's name.
pub(crate) fn measure_by(command: Command, url: &str, plan: Option<&str>, typed: &str) -> Ended {
    let files: Vec<_> = plan.map(|plan| ("plan.toml", plan)).into_iter().collect();
    let plan = if plan.is_some() { "--plan plan.toml" } else { "" };
    run(command, &files, &format!("--endpoint-url {url} {plan} {typed}"))
}

/// Runs a session against the simulated endpoint to its end. `profile` is TOML too; without it, everything is accepted.
pub(crate) fn simulate(profile: Option<&str>, plan: &str, typed: &str) -> Ended {
    let profiled = if profile.is_some() { "profile.toml" } else { "null" };
    let files = [("plan.toml", plan), ("profile.toml", profile.unwrap_or_default())];
    run(Command::new(PROGRAM), &files, &format!("--embedded-profile {profiled} --plan plan.toml {typed}"))
}

fn run(mut command: Command, files: &[(&str, &str)], typed: &str) -> Ended {
    let directory = tempfile::tempdir().expect("a directory");
    command.args(["run", "--headless", "--out", "session.json"]).args(typed.split_whitespace());
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).expect("written");
    }
    let said = directory.path().join("said");
    let out = File::create(&said).expect("a file");
    command.current_dir(directory.path()).envs(settings(directory.path())).stdin(Stdio::null());
    command.stdout(out.try_clone().expect("a file")).stderr(out);
    let begun = Instant::now();
    let mut child = Guarded(command.spawn().expect("the program starts"));
    let status = child.end("the session");
    let took = begun.elapsed();
    let said = std::fs::read_to_string(said).expect("what it said");
    let document = std::fs::read(directory.path().join("session.json")).unwrap_or_else(|e| panic!("no document ({e}): {said}"));
    let document = serde_json::from_slice(&document).expect("JSON");
    is_consistent(&document);
    Ended { code: status.code(), said, took, document }
}

impl Ended {
    /// A count of the session's ledger.
    pub(crate) fn total(&self, name: &str) -> u64 {
        self.document["totals"][name].as_u64().unwrap_or_else(|| panic!("no count {name}: {}", self.document["totals"]))
    }

    /// How many requests failed in this way.
    pub(crate) fn failed_as(&self, kind: &str) -> u64 {
        failures(&self.document).filter(|(named, _)| *named == kind).map(|(_, count)| count).sum()
    }

    /// All went well and nothing was left.
    pub(crate) fn is_complete(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}", self.said);
        assert_eq!(self.document["session"]["state"], "finished", "{}", self.said);
        assert_eq!(self.document["target"]["simulated"], false);
        is_gone(&self.document);
        self
    }
}

fn failures(document: &Value) -> impl Iterator<Item = (&str, u64)> {
    let listed = document["failures"].as_array().into_iter().flatten();
    listed.map(|failure| (failure["kind"].as_str().expect("a kind"), failure["count"].as_u64().expect("a count")))
}

/// The document says that the table was deleted, and that this was confirmed.
pub(crate) fn is_gone(document: &Value) {
    let target = &document["target"];
    assert_eq!(target["created_by_session"], true, "{target}");
    assert_eq!(target["deleted"], true, "{target}");
    assert!(target["delete_confirmed_s"].as_f64().is_some_and(|s| s >= 0.0), "{target}");
}

/// The document has the published shape, every ledger in it is balanced, and whatever was refused or failed is named.
pub(crate) fn is_consistent(document: &Value) {
    static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
        let schema = serde_json::from_str(include_str!("../../assets/session.schema.json")).expect("JSON");
        jsonschema::validator_for(&schema).expect("a schema")
    });
    let wrong: Vec<String> = SCHEMA.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert_eq!(wrong, Vec::<String>::new());
    let count = |ledger: &Value, name: &str| ledger[name].as_u64().unwrap_or_else(|| panic!("no count {name}: {ledger}"));
    let windows = document["windows"].as_array().expect("windows");
    for ledger in windows.iter().chain([&document["totals"]]) {
        let outcomes: u64 =
            ["accepted", "throttled", "failed", "timed_out", "shed", "in_flight"].map(|name| count(ledger, name)).iter().sum();
        assert_eq!(outcomes, count(ledger, "offered"), "{ledger}");
        assert_eq!(count(ledger, "sent") + count(ledger, "shed"), count(ledger, "offered"), "{ledger}");
    }
    for name in ["offered", "accepted", "throttled", "failed", "timed_out", "shed"] {
        let by_window: u64 = windows.iter().map(|window| count(window, name)).sum();
        let by_second: u64 = document["buckets"][name].as_array().expect("a column").iter().filter_map(Value::as_u64).sum();
        let total = count(&document["totals"], name);
        assert_eq!((by_window, by_second), (total, total), "{name}, by window and by second");
    }
    let throttled: u64 = document["throttles"].as_array().into_iter().flatten().filter_map(|throttle| throttle["count"].as_u64()).sum();
    assert_eq!(throttled, count(&document["totals"], "throttled"), "{}", document["throttles"]);
    assert_eq!(failures(document).map(|(_, count)| count).sum::<u64>(), count(&document["totals"], "failed"), "{}", document["failures"]);
}
