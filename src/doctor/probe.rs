//! The probe: single signed control-plane requests over a connection of its own, with the time of each and the `Date` of
//! its reply. One request is one attempt.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use super::clock::{Dated, parse_date};
use crate::wire::{Endpoint, Identity};

const CONTENT: &str = "application/x-amz-json-1.0";
/// One request, connecting included, takes at most this long.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer that is read.
const LARGEST: usize = 1 << 20;

/// How long a connection took to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connected {
    /// The TCP handshake.
    pub tcp: Duration,
    /// The TLS handshake after it, with https.
    pub tls: Option<Duration>,
}

impl Connected {
    /// Both handshakes.
    pub fn total(self) -> Duration {
        self.tcp + self.tls.unwrap_or_default()
    }
}

/// What the `Date` header of a reply said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateHeader {
    Absent,
    Unreadable,
    Says(Dated),
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// Error code without its namespace, where there is one.
    pub(super) code: Option<String>,
    pub(super) body: Bytes,
    /// From sending the request to the end of its answer.
    pub(super) took: Duration,
    /// The connection, if one was opened for this request.
    pub(super) connected: Option<Connected>,
    pub(super) date: DateHeader,
}

/// Something that requests go out on.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Asks one endpoint, one request at a time.
#[derive(Debug)]
pub struct Probe {
    endpoint: Endpoint,
    identity: Arc<Identity>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Probe {
    /// A probe of an endpoint that signs as this identity. Nothing is sent yet.
    pub fn new(endpoint: Endpoint, identity: Arc<Identity>) -> Self {
        Self { endpoint, identity, sender: None }
    }

    /// Asks for an operation. The error is a clause that says why there is no answer.
    pub(super) async fn ask(&mut self, operation: &str, body: String) -> Result<Reply, String> {
        let authority = self.endpoint.authority().to_owned();
        let asked = timeout(TIMEOUT, self.attempt(operation, body)).await;
        asked.unwrap_or_else(|_| Err(format!("no answer from {authority} within {} s", TIMEOUT.as_secs())))
    }

    /// Leaves the connection, so that the next request opens one.
    pub(super) fn hang_up(&mut self) {
        self.sender = None;
    }

    async fn attempt(&mut self, operation: &str, body: String) -> Result<Reply, String> {
        let kept = self.sender.take().filter(|sender| !sender.is_closed());
        let (mut sender, connected) = match kept {
            Some(sender) => (sender, None),
            None => self.connect().await.map(|(sender, connected)| (sender, Some(connected)))?,
        };
        sender.ready().await.map_err(|e| e.to_string())?;
        let (sent_at, sent) = (SystemTime::now(), Instant::now());
        let response = sender.send_request(self.signed(operation, body, sent_at)?).await.map_err(|e| e.to_string())?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LARGEST).collect().await.map_err(|e| e.to_string())?.to_bytes();
        let (took, received) = (sent.elapsed(), SystemTime::now());
        let date = match head.headers.get(hyper::header::DATE).map(|value| value.to_str().ok().and_then(parse_date)) {
            None => DateHeader::Absent,
            Some(None) => DateHeader::Unreadable,
            Some(Some(date_s)) => DateHeader::Says(Dated { sent: sent_at, received, date_s }),
        };
        self.sender = Some(sender);
        Ok(Reply { status: head.status.as_u16(), code: code(&body), body, took, connected, date })
    }

    async fn connect(&self) -> Result<(SendRequest<Full<Bytes>>, Connected), String> {
        let authority = self.endpoint.authority();
        let addresses: Vec<_> = lookup_host(self.endpoint.host()).await.map_err(|e| format!("cannot resolve {authority}: {e}"))?.collect();
        let start = Instant::now();
        let tcp = TcpStream::connect(addresses.as_slice()).await.map_err(|e| format!("cannot connect to {authority}: {e}"))?;
        let tcp_took = start.elapsed();
        let _slower_without = tcp.set_nodelay(true);
        let (stream, tls): (Box<dyn Stream>, _) = match self.endpoint.tls() {
            None => (Box::new(tcp), None),
            Some((connector, name)) => {
                let start = Instant::now();
                let tls = connector.connect(name, tcp).await.map_err(|e| format!("TLS handshake with {authority} failed: {e}"))?;
                (Box::new(tls), Some(start.elapsed()))
            }
        };
        let (sender, driver) = handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
        // Ends with the connection; what went wrong on it reaches the request that was on it.
        tokio::spawn(driver);
        Ok((sender, Connected { tcp: tcp_took, tls }))
    }

    fn signed(&self, operation: &str, body: String, now: SystemTime) -> Result<Request<Full<Bytes>>, String> {
        let Identity { access_key_id, secret_access_key, session_token } = self.identity.as_ref();
        let credentials = Credentials::new(access_key_id, secret_access_key, session_token.clone(), None, "probe").into();
        let params = SigningParams::builder()
            .identity(&credentials)
            .region(self.endpoint.region())
            .name("dynamodb")
            .time(now)
            .settings(SigningSettings::default())
            .build()
            .map_err(|e| e.to_string())?
            .into();
        let (host, target) = (self.endpoint.authority(), format!("DynamoDB_20120810.{operation}"));
        let uri = format!("http://{host}/");
        let headers = [("content-type", CONTENT), ("host", host), ("x-amz-target", target.as_str())];
        let signable = SignableRequest::new("POST", &uri, headers.into_iter(), SignableBody::Bytes(body.as_bytes()));
        let (instructions, _) = sign(signable.map_err(|e| e.to_string())?, &params).map_err(|e| e.to_string())?.into_parts();
        let mut request = Request::post("/");
        for (name, value) in headers.into_iter().chain(instructions.headers()) {
            request = request.header(name, value);
        }
        request.body(Full::new(body.into())).map_err(|_| "the credentials hold characters that no HTTP header may".to_owned())
    }
}

/// The error code of an answer, without its namespace.
fn code(body: &[u8]) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_slice(body).ok()?;
    let code = answer.get("__type")?.as_str()?;
    Some(code.rsplit('#').next().unwrap_or(code).to_owned())
}
