//! A lane: one connection, opened when it is first needed and again whenever the old one is no longer usable.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{HeaderMap, Response, StatusCode};
use tokio::time::Instant;

use super::answer::{Classifier, LARGEST_BODY};
use super::connection::{Endpoint, Sender, failure};
use super::identity::Identities;
use super::sign::Signer;
use super::template::Template;
use crate::load::{Failure, FailureKind, Lane, Outcome, Request};

/// One connection at a time to the endpoint.
#[derive(Debug)]
pub struct WireLane {
    endpoint: Endpoint,
    template: Arc<Template>,
    signer: Signer,
    classifier: Classifier,
    /// Taken out while a request is on it: a call that is abandoned half-way drops the connection with it.
    sender: Option<Sender>,
    /// When it was last used.
    used: Instant,
    /// How long it may be idle, where the server said so.
    idle_limit: Option<Duration>,
    body: BytesMut,
    answer: BytesMut,
}

impl WireLane {
    pub(super) fn new(endpoint: Endpoint, identities: Identities, template: Arc<Template>) -> Self {
        let signer = Signer::new(endpoint.authority(), endpoint.region(), identities);
        Self {
            endpoint,
            template,
            signer,
            classifier: Classifier::default(),
            sender: None,
            used: Instant::now(),
            idle_limit: None,
            body: BytesMut::new(),
            answer: BytesMut::new(),
        }
    }

    /// A connection that can take a request now.
    async fn ready(&mut self) -> Result<(Sender, Option<Duration>), Arc<Failure>> {
        let about_to_close = self.idle_limit.is_some_and(|limit| self.used.elapsed() >= limit);
        if let Some(mut sender) = self.sender.take().filter(|_| !about_to_close) {
            // An idle connection that the server has closed says so here, before anything is sent on it.
            if !sender.is_closed() && sender.ready().await.is_ok() {
                return Ok((sender, None));
            }
        }
        let start = Instant::now();
        let sender = self.endpoint.connect().await?;
        Ok((sender, Some(start.elapsed())))
    }

    async fn attempt(&mut self, request: &Request) -> Result<Outcome, Arc<Failure>> {
        let (mut sender, connected) = self.ready().await?;
        if let Some(took) = connected {
            request.mark_connected(took);
        }
        self.template.body(request.op).render(request.key, &mut self.body);
        let body: Bytes = self.body.split().freeze();
        let signed = self
            .signer
            .request(request.op, body, SystemTime::now())
            .ok_or_else(|| failure(FailureKind::Local, "the credentials hold characters that no HTTP header may"))?;
        request.mark_sent();
        let mut sending = sender.try_send_request(signed).await;
        if let Err(error) = &mut sending
            && let Some(unsent) = error.take_message()
        {
            // Given back whole: the connection closed before a byte of it was written, so this is still the first attempt.
            let start = Instant::now();
            sender = self.endpoint.connect().await?;
            request.mark_connected(start.elapsed());
            request.mark_sent();
            sending = sender.try_send_request(unsent).await;
        }
        let response = sending.map_err(|error| transport(error.error()))?;
        let outcome = self.read(response).await?;
        if sender.is_ready() || !sender.is_closed() {
            self.sender = Some(sender);
            self.used = Instant::now();
        }
        Ok(outcome)
    }

    async fn read(&mut self, response: Response<Incoming>) -> Result<Outcome, Arc<Failure>> {
        let (head, mut body) = response.into_parts();
        self.idle_limit = idle_limit(&head.headers);
        self.answer.clear();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| cut_short(&error))?;
            if let Some(data) = frame.data_ref() {
                if self.answer.len() + data.len() > LARGEST_BODY {
                    return Err(failure(FailureKind::Garbled, format!("the answer is longer than {LARGEST_BODY} bytes")));
                }
                self.answer.extend_from_slice(data);
            }
        }
        let error_type = match head.status {
            StatusCode::OK => None,
            _ => head.headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok()),
        };
        Ok(self.classifier.classify(head.status.as_u16(), error_type, &self.answer))
    }
}

impl Lane for WireLane {
    async fn open(&mut self) -> Result<Option<Duration>, Arc<Failure>> {
        let (sender, took) = self.ready().await?;
        self.sender = Some(sender);
        Ok(took)
    }

    async fn call(&mut self, request: &Request) -> Outcome {
        self.attempt(request).await.unwrap_or_else(Outcome::Failed)
    }
}

/// How long a connection may be idle before it is no longer used, by the server's `Keep-Alive: timeout=SECONDS`. A request
/// that reached the server while it was closing would be lost, so the last second, or half, is left out.
fn idle_limit(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get("keep-alive")?.to_str().ok()?;
    let seconds = said.split(',').find_map(|part| part.trim().strip_prefix("timeout="))?;
    let timeout = Duration::from_secs(seconds.trim().parse::<u32>().ok()?.into());
    Some(timeout.saturating_sub((timeout / 2).min(Duration::from_secs(1))))
}

/// What a transport error amounts to.
fn transport(error: &hyper::Error) -> Arc<Failure> {
    let kind =
        if error.is_parse() || error.is_parse_too_large() || error.is_parse_status() { FailureKind::Garbled } else { FailureKind::Closed };
    failure(kind, in_full(error))
}

/// What an error amid a body amounts to: where the connection ended in order, the answer itself was too short.
fn cut_short(error: &hyper::Error) -> Arc<Failure> {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    match cause {
        Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
            failure(FailureKind::Garbled, in_full(error))
        }
        _ => transport(error),
    }
}

/// An error with all that caused it.
fn in_full(error: &hyper::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_left_before_the_server_said_it_would_close_it() {
        let limit = |said: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("keep-alive", hyper::header::HeaderValue::from_static(said));
            idle_limit(&headers)
        };
        assert_eq!(limit("timeout=5"), Some(Duration::from_secs(4)));
        assert_eq!(limit("max=100, timeout=1"), Some(Duration::from_millis(500)));
        assert_eq!(limit("timeout=0"), Some(Duration::ZERO));
        for said in ["", "max=3", "timeout=soon", "timeout=-1", "timeout=99999999999"] {
            assert_eq!(limit(said), None, "{said}");
        }
        assert_eq!(idle_limit(&HeaderMap::new()), None);
    }
}
