//! Endpoints that outlive the program: the simulated one as a process of its own, and one that answers as a test says.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::place::{PROGRAM, Place};
use super::{PATIENCE, starting};

/// The simulated endpoint as a process of its own.
pub(crate) struct Target {
    process: Child,
    pub(crate) url: String,
    address: SocketAddr,
    _place: Place,
}

impl Target {
    /// An endpoint whose tables are as this profile says.
    pub(crate) fn start(profile: &str) -> Self {
        let place = Place::new();
        let file = place.file("profile.toml", profile);
        let mut command = Command::new(PROGRAM);
        command.args(["embedded", "--listen", "127.0.0.1:0", "--embedded-profile", &file]);
        command.current_dir(place.work()).env_clear().envs(place.environment());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = {
            let _starting = starting();
            command.spawn().expect("an endpoint")
        };
        let mut line = String::new();
        BufReader::new(process.stderr.take().expect("its words")).read_line(&mut line).expect("its address");
        let url = line.split_whitespace().map(|word| word.trim_end_matches(';')).find(|word| word.starts_with("http://"));
        let Some(url) = url.map(str::to_owned) else {
            let _ended = process.kill().and_then(|()| process.wait());
            panic!("no address: {line}");
        };
        let address = url.trim_start_matches("http://").parse().expect("an address");
        Self { process, url, address, _place: place }
    }

    /// The tables that stand.
    pub(crate) fn tables(&self) -> Vec<String> {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let request = "POST / HTTP/1.1\r\nHost: endpoint\r\nContent-Type: application/x-amz-json-1.0\r\n\
             X-Amz-Target: DynamoDB_20120810.ListTables\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
        stream.write_all(request.as_bytes()).expect("a question");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        let listed: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
        let names = listed["TableNames"].as_array().expect("names");
        names.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it, and its tables with it.
    pub(crate) fn die(&mut self) {
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.die();
    }
}

/// What a scripted endpoint says.
pub(crate) enum Say {
    /// An HTTP status and a JSON body.
    This(u16, &'static str),
    /// Nothing, and the connection stays open.
    Nothing,
}

/// An endpoint that answers each operation as a test says.
pub(crate) struct Script {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Script {
    /// Answers by operation name until the test program ends.
    pub(crate) fn start(answer: impl Fn(&str) -> Say + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, notes) = (answer.clone(), Arc::clone(&notes));
                std::thread::spawn(move || serve(&stream, &answer, &notes));
            }
        });
        Self { url, asked }
    }

    /// How often an operation was asked for.
    pub(crate) fn asked(&self, operation: &str) -> usize {
        self.asked.lock().expect("no panic").iter().filter(|asked| *asked == operation).count()
    }
}

fn serve(mut stream: &TcpStream, answer: &impl Fn(&str) -> Say, asked: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (mut operation, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(": ") else { continue };
            match name.to_ascii_lowercase().as_str() {
                "x-amz-target" => operation = value.rsplit('.').next().unwrap_or_default().to_owned(),
                "content-length" => length = value.parse().ok()?,
                _ => {}
            }
        }
        reader.read_exact(&mut vec![0; length]).ok()?;
        asked.lock().expect("no panic").push(operation.clone());
        match answer(&operation) {
            Say::This(status, body) => {
                let head =
                    format!("HTTP/1.1 {status} x\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n", body.len());
                stream.write_all((head + body).as_bytes()).ok()?;
            }
            Say::Nothing => std::thread::sleep(Duration::from_secs(3_600)),
        }
    }
}
