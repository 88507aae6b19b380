//! Errors of the SDK: which class each of them belongs to.

use std::error::Error;
use std::io;
use std::sync::Arc;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ConnectorError, SdkError};

use super::answer::{self, NoAnswer};
use crate::load::{Failure, FailureKind, Outcome, by_connecting};

/// The endpoint, as messages name it.
#[derive(Debug)]
pub(super) struct Place {
    url: String,
}

impl Place {
    pub(super) fn new(url: &str) -> Self {
        Self { url: url.to_owned() }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn is_secure(&self) -> bool {
        self.url.starts_with("https://")
    }

    /// Host and port, as typed.
    fn authority(&self) -> &str {
        self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest).trim_end_matches('/')
    }

    fn host(&self) -> &str {
        let authority = self.authority();
        authority.rsplit_once(':').map_or(authority, |(host, _)| host)
    }
}

/// What a call that did not succeed amounts to.
pub(super) fn outcome<E: Error + 'static>(error: &SdkError<E, HttpResponse>, place: &Place) -> Outcome {
    match error {
        SdkError::ServiceError(context) => answered(error, context.raw()),
        SdkError::ResponseError(context) => answered(error, context.raw()),
        SdkError::TimeoutError(_) => Outcome::TimedOut,
        SdkError::DispatchFailure(failure) => failed(match failure.as_connector_error() {
            Some(error) => dispatch(error, place),
            None => (FailureKind::Local, in_full(error)),
        }),
        _ => failed((FailureKind::Local, in_full(error))),
    }
}

fn failed((kind, message): (FailureKind, String)) -> Outcome {
    Outcome::Failed(Arc::new(Failure::new(kind, None, None, &message)))
}

fn answered<E: Error + 'static>(error: &SdkError<E, HttpResponse>, response: &HttpResponse) -> Outcome {
    answer::outcome(response, &in_full(error)).unwrap_or_else(|| failed(cut_short(error)))
}

/// A request that got no answer.
fn dispatch(error: &ConnectorError, place: &Place) -> (FailureKind, String) {
    let connecting = find::<hyper_util::client::legacy::Error>(error).is_some_and(hyper_util::client::legacy::Error::is_connect);
    if connecting { unconnected(error, place) } else { transport(error) }
}

/// A request for which there was no connection. hyper's connector has no public type for what went wrong, but a fixed
/// word for each step; what has none of them is the TLS handshake.
fn unconnected(error: &ConnectorError, place: &Place) -> (FailureKind, String) {
    let authority = place.authority();
    if error.is_timeout() {
        return (FailureKind::Connect, format!("no connection to {authority} within 3.1 s"));
    }
    let cause = find::<io::Error>(error);
    let why = cause.map_or_else(|| in_full(error), ToString::to_string);
    let step = chain(error).map(ToString::to_string).find(|said| said == "dns error" || said.starts_with("tcp "));
    match step.as_deref() {
        Some("dns error") => (FailureKind::Dns, format!("cannot resolve {}: {why}", place.host())),
        None if place.is_secure() => (FailureKind::Tls, format!("TLS handshake with {authority} failed: {why}")),
        _ => (cause.map_or(FailureKind::Connect, by_connecting), format!("cannot connect to {authority}: {why}")),
    }
}

/// A connection that broke, or on which something else than HTTP was spoken.
fn transport(error: &(dyn Error + 'static)) -> (FailureKind, String) {
    if let Some(error) = find::<hyper::Error>(error) {
        let garbled = error.is_parse();
        return (if garbled { FailureKind::Garbled } else { FailureKind::Closed }, in_full(error));
    }
    let about_a_connection = find::<hyper_util::client::legacy::Error>(error).is_some() || find::<io::Error>(error).is_some();
    (if about_a_connection { FailureKind::Closed } else { FailureKind::Local }, in_full(error))
}

/// An answer that was not read to its end: where the connection ended in order, the answer itself was too short.
fn cut_short(error: &(dyn Error + 'static)) -> (FailureKind, String) {
    if let Some(why) = find::<NoAnswer>(error) {
        return (FailureKind::Garbled, why.to_string());
    }
    match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
            let error = find::<hyper::Error>(error).map_or(error, |error| error);
            (FailureKind::Garbled, in_full(error))
        }
        _ => transport(error),
    }
}

/// An error and all that caused it. What an I/O error was made from is one of its causes, which `source` leaves out.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| match error.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => error.source(),
    })
}

fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    chain(error).find_map(|cause| cause.downcast_ref())
}

/// An error with all that caused it, each said once.
fn in_full(error: &(dyn Error + 'static)) -> String {
    let mut message = String::new();
    let mut last = String::new();
    for cause in chain(error).map(ToString::to_string) {
        if cause != last {
            message.push_str(if message.is_empty() { "" } else { ": " });
            message.push_str(&cause);
            last = cause;
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Step(&'static str, #[source] io::Error);

    fn refused() -> io::Error {
        io::Error::from_raw_os_error(111)
    }

    #[test]
    fn a_place_is_named_as_it_was_typed() {
        for (url, secure, authority, host) in [
            ("http://127.0.0.1:8000", false, "127.0.0.1:8000", "127.0.0.1"),
            ("https://dynamodb.us-east-1.amazonaws.com/", true, "dynamodb.us-east-1.amazonaws.com", "dynamodb.us-east-1.amazonaws.com"),
        ] {
            let place = Place::new(url);
            assert_eq!((place.is_secure(), place.authority(), place.host()), (secure, authority, host));
        }
    }

    #[test]
    fn a_failed_connect_is_told_by_its_step() {
        let kind = |url: &str, error: Step| {
            let (kind, message) = unconnected(&ConnectorError::io(Box::new(error)), &Place::new(url));
            assert!(message.contains("os error") && message.contains('x'), "{message}");
            kind
        };
        assert_eq!(kind("http://x:1", Step("dns error", refused())), FailureKind::Dns);
        assert_eq!(kind("https://x:1", Step("dns error", refused())), FailureKind::Dns);
        assert_eq!(kind("http://x:1", Step("tcp connect error", refused())), FailureKind::Connect);
        assert_eq!(kind("https://x:1", Step("tcp connect error", refused())), FailureKind::Connect);
        assert_eq!(kind("http://x:1", Step("tcp open error", io::Error::from_raw_os_error(24))), FailureKind::Local);
        assert_eq!(kind("https://x:1", Step("anything else", refused())), FailureKind::Tls);
    }

    #[test]
    fn an_answer_that_ends_too_soon_is_garbled_and_a_reset_is_closed() {
        let kind = |kind: io::ErrorKind| cut_short(&Step("body", io::Error::from(kind))).0;
        assert_eq!(kind(io::ErrorKind::UnexpectedEof), FailureKind::Garbled);
        assert_eq!(kind(io::ErrorKind::ConnectionReset), FailureKind::Closed);
    }

    #[test]
    fn an_error_tells_each_cause_once() {
        let error = Step("outer", io::Error::other(Step("inner", refused())));
        assert_eq!(in_full(&error), "outer: inner: Connection refused (os error 111)");
    }
}
