//! What became of one request, as a closed set.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::rate::Units;

/// The outcome of one request that was sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The service answered success and stated this much consumed capacity (zero when it stated none).
    Accepted(Units),
    /// The service said no for capacity.
    Throttled(Arc<Refusal>),
    /// Any other error answer, or a transport error.
    Failed(Arc<Failure>),
    /// No answer within the request timeout.
    TimedOut,
}

/// A throttle as the service worded it. Account ids are masked by [`Refusal::new`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Refusal {
    /// HTTP status, 400 from DynamoDB.
    pub http_status: u16,
    /// Error code without its namespace, for example `ThrottlingException`.
    pub code: String,
    /// Reasons as given, for example `TableWriteKeyRangeThroughputExceeded`; empty where the service gave none.
    pub reasons: Vec<String>,
    /// The resource of the first reason, account masked.
    pub resource: Option<String>,
    /// The message, verbatim but for masked account ids.
    pub message: String,
}

/// What the refusal says about which limit was hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A key range (partition) is at its capacity: table not scaled yet, or a hot key.
    KeyRange,
    /// The configured on-demand maximum.
    ConfiguredMaximum,
    /// Provisioned capacity.
    Provisioned,
    /// An account quota.
    Account,
    /// Nothing in the answer says.
    Unknown,
}

impl Cause {
    /// One clause for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::KeyRange => "a key range of the table is at its capacity (table not scaled yet, or a hot key)",
            Self::ConfiguredMaximum => "the configured on-demand maximum was reached",
            Self::Provisioned => "the provisioned capacity was reached",
            Self::Account => "an account quota was reached",
            Self::Unknown => "the service gave no reason",
        }
    }
}

impl Refusal {
    /// A refusal with account ids masked in its resource and message.
    pub fn new(http_status: u16, code: &str, reasons: Vec<String>, resource: Option<&str>, message: &str) -> Self {
        Self { http_status, code: code.to_owned(), reasons, resource: resource.map(mask_accounts), message: mask_accounts(message) }
    }

    /// Which limit: by reason where given, else by message, else by code, else unknown.
    pub fn cause(&self) -> Cause {
        for reason in &self.reasons {
            let cause = match reason.as_str() {
                r if r.ends_with("KeyRangeThroughputExceeded") => Cause::KeyRange,
                r if r.ends_with("MaxOnDemandThroughputExceeded") => Cause::ConfiguredMaximum,
                r if r.ends_with("ProvisionedThroughputExceeded") => Cause::Provisioned,
                r if r.ends_with("AccountLimitExceeded") => Cause::Account,
                _ => Cause::Unknown,
            };
            if cause != Cause::Unknown {
                return cause;
            }
        }
        let message = self.message.as_str();
        if message.contains("maximum OnDemandThroughput") {
            Cause::ConfiguredMaximum
        } else if message.contains("current capacity") {
            Cause::KeyRange
        } else if message.contains("provisioned throughput") {
            Cause::Provisioned
        } else if message.contains("throughput limit for your account") || self.code == "RequestLimitExceeded" {
            Cause::Account
        } else {
            Cause::Unknown
        }
    }
}

/// A request that failed for another reason than capacity or time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// Where it failed.
    pub kind: FailureKind,
    /// The service's error code, if it gave one.
    pub code: Option<String>,
    /// HTTP status, if there was an answer.
    pub http_status: Option<u16>,
    /// The message, account ids masked.
    pub message: String,
}

impl Failure {
    /// A failure with account ids masked in its message.
    pub fn new(kind: FailureKind, code: Option<&str>, http_status: Option<u16>, message: &str) -> Self {
        Self { kind, code: code.map(str::to_owned), http_status, message: mask_accounts(message) }
    }
}

/// Where a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The table or item collection was not there (ResourceNotFoundException).
    NotFound,
    /// Credentials, signature or permission were refused.
    Denied,
    /// The service called the request invalid.
    Invalid,
    /// The service failed (5xx).
    Service,
    /// Another error answer.
    OtherAnswer,
    /// The answer was not what the protocol allows: garbage, truncated or too large.
    Garbled,
    /// No connection: refused, unreachable, or none within the connect timeout.
    Connect,
    /// The endpoint's name could not be resolved.
    Dns,
    /// The TLS handshake failed.
    Tls,
    /// The connection was closed or reset before the answer.
    Closed,
    /// This machine ran out of something (descriptors, ports): the client's own limit.
    Local,
}

impl FailureKind {
    /// The name used in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::Invalid => "invalid",
            Self::Service => "service",
            Self::OtherAnswer => "other_answer",
            Self::Garbled => "garbled",
            Self::Connect => "connect",
            Self::Dns => "dns",
            Self::Tls => "tls",
            Self::Closed => "closed",
            Self::Local => "local",
        }
    }

    /// Whether the request failed in transport, so that the service may or may not have served it.
    pub const fn in_transport(self) -> bool {
        matches!(self, Self::Garbled | Self::Connect | Self::Dns | Self::Tls | Self::Closed | Self::Local)
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// `text` with every run of exactly twelve digits, which is what an AWS account id looks like, masked.
pub fn mask_accounts(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut digits = String::new();
    for c in text.chars().chain(std::iter::once('\0')) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        if digits.len() == 12 {
            masked.push_str("************");
        } else {
            masked.push_str(&digits);
        }
        digits.clear();
        if c != '\0' {
            masked.push(c);
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_id_is_masked_where_it_is_first_read() {
        let arn = "arn:aws:dynamodb:us-east-1:123456789012:table/t-1700000000000";
        let refusal = Refusal::new(400, "ThrottlingException", vec![], Some(arn), &format!("no: {arn}"));
        assert_eq!(refusal.resource.as_deref(), Some("arn:aws:dynamodb:us-east-1:************:table/t-1700000000000"));
        assert!(!refusal.message.contains("123456789012"));
    }

    #[test]
    fn the_cause_is_the_reason_else_the_message_else_unknown() {
        let refusal = |reasons: &[&str], message: &str| {
            Refusal::new(400, "ThrottlingException", reasons.iter().map(|r| (*r).to_owned()).collect(), None, message).cause()
        };
        assert_eq!(refusal(&["TableWriteKeyRangeThroughputExceeded"], "whatever"), Cause::KeyRange);
        assert_eq!(refusal(&["IndexWriteMaxOnDemandThroughputExceeded"], ""), Cause::ConfiguredMaximum);
        assert_eq!(refusal(&["TableReadProvisionedThroughputExceeded"], ""), Cause::Provisioned);
        assert_eq!(refusal(&["TableReadAccountLimitExceeded"], ""), Cause::Account);
        assert_eq!(refusal(&["SomethingNew"], "Throughput exceeds the current capacity of your table or index."), Cause::KeyRange);
        assert_eq!(
            refusal(&[], "Throughput exceeds the maximum OnDemandThroughput configured on table or index"),
            Cause::ConfiguredMaximum
        );
        assert_eq!(refusal(&[], "Rate of requests exceeds the allowed throughput."), Cause::Unknown);
    }
}
