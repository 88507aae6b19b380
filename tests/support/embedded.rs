//! A started endpoint and a plain HTTP client, for tests of what goes over the wire.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use throttlescope::embedded::{Config, Profile, Server, start};

/// A server of a profile given as TOML.
pub(crate) fn server(profile: &str) -> Server {
    start(Config { profile: Profile::parse(profile, "test.toml").unwrap(), ..Config::default() }).unwrap()
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().filter_map(|line| line.split_once(": ")).find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The error code without its namespace.
    pub(crate) fn code(&self) -> String {
        self.json()["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned()
    }
}

/// One connection.
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self(stream)
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Reads one answer, or fails when the connection ends before it does.
    pub(crate) fn receive(&mut self) -> std::io::Result<Answer> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 8_192];
        loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
                let mut answer = Answer { status: head[9..12].parse().unwrap_or(0), head, body: bytes.split_off(end + 4) };
                let length: usize = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
                while answer.body.len() < length {
                    let read = self.0.read(&mut chunk)?;
                    if read == 0 {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                    answer.body.extend_from_slice(&chunk[..read]);
                }
                return Ok(answer);
            }
            let read = self.0.read(&mut chunk)?;
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            bytes.extend_from_slice(&chunk[..read]);
        }
    }

    pub(crate) fn post(&mut self, target: Option<&str>, body: &[u8]) -> std::io::Result<Answer> {
        let target = target.map_or_else(String::new, |target| format!("x-amz-target: {target}\r\n"));
        let head = format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-amz-json-1.0\r\n{target}content-length: {}\r\n\r\n",
            body.len()
        );
        self.send(&[head.as_bytes(), body].concat())?;
        self.receive()
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).unwrap();
        self.receive().unwrap()
    }

    pub(crate) fn call(&mut self, operation: &str, body: &Value) -> Answer {
        self.post(Some(&format!("DynamoDB_20120810.{operation}")), body.to_string().as_bytes()).unwrap()
    }

    /// Creates an on-demand table with the key `id` and waits until it is ACTIVE.
    pub(crate) fn create(&mut self, table: &str) {
        let answer = self.call(
            "CreateTable",
            &json!({
                "TableName": table,
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            }),
        );
        assert_eq!(answer.status, 200, "{}", answer.json());
        self.wait_for_status(table, Some("ACTIVE"));
    }

    /// Waits until a table has this status, or is gone.
    pub(crate) fn wait_for_status(&mut self, table: &str, status: Option<&str>) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let answer = self.call("DescribeTable", &json!({"TableName": table}));
            if answer.json()["Table"]["TableStatus"].as_str() == status {
                return;
            }
            assert!(Instant::now() < deadline, "still {}", answer.json());
            std::thread::yield_now();
        }
    }

    pub(crate) fn ledger(&mut self, table: &str) -> Value {
        self.get(&format!("/throttlescope/ledger?table={table}")).json()
    }
}

/// A PutItem body.
pub(crate) fn put(table: &str, key: &str) -> Value {
    json!({"TableName": table, "Item": {"id": {"S": key}, "v": {"S": "x"}}})
}
