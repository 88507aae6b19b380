//! Answers: what a status, an error type header and a body amount to.

use std::sync::Arc;

use serde::Deserialize;

use crate::load::{Failure, FailureKind, Outcome, Units, by_code};

/// Bodies longer than this are not read to the end; an answer to a write or a read of one item is at most 400 KB and its
/// JSON escapes.
pub(super) const LARGEST_BODY: usize = 4 * 1_024 * 1_024;

/// Classifies answers, remembering the last error answer: under throttling the same body comes thousands of times a second.
#[derive(Debug, Default)]
pub(super) struct Classifier {
    last: Option<(u16, Vec<u8>, Outcome)>,
}

impl Classifier {
    /// See [`classify`].
    pub(super) fn classify(&mut self, status: u16, error_type: Option<&str>, body: &[u8]) -> Outcome {
        if status == 200 {
            return classify(status, error_type, body);
        }
        if let Some((last_status, last_body, outcome)) = &self.last
            && *last_status == status
            && error_type.is_none()
            && last_body == body
        {
            return outcome.clone();
        }
        let outcome = classify(status, error_type, body);
        if error_type.is_none() {
            self.last = Some((status, body.to_vec(), outcome.clone()));
        }
        outcome
    }
}

#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(rename = "__type")]
    error_type: Option<String>,
    code: Option<String>,
    message: Option<String>,
    #[serde(rename = "Message")]
    capital_message: Option<String>,
    #[serde(rename = "throttlingReasons", alias = "ThrottlingReasons", default)]
    reasons: Vec<Reason>,
}

#[derive(Deserialize)]
struct Reason {
    reason: Option<String>,
    resource: Option<String>,
}

/// What an answer amounts to. `error_type` is the `x-amzn-errortype` header, which some servers send and which is then
/// preferred to the body's `__type`, as the SDKs do.
pub fn classify(status: u16, error_type: Option<&str>, body: &[u8]) -> Outcome {
    if status == 200 {
        // An object that states what was consumed needs no parser: it is the answer to every request that is not an error.
        let consumed = consumed_units(body).filter(|_| body.starts_with(b"{") && body.ends_with(b"}"));
        return match consumed {
            Some(units) => Outcome::Accepted(units),
            None if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() => Outcome::Accepted(Units::ZERO),
            None => Outcome::Failed(Arc::new(Failure::new(FailureKind::Garbled, None, Some(status), "the answer is not JSON"))),
        };
    }
    let read: ErrorBody = serde_json::from_slice(body).unwrap_or_default();
    let code = error_type.map(str::to_owned).or(read.error_type).or(read.code);
    let message = read.message.or(read.capital_message).unwrap_or_default();
    let reasons = read.reasons.iter().filter_map(|reason| reason.reason.clone()).collect();
    let resource = read.reasons.iter().find_map(|reason| reason.resource.as_deref());
    by_code(status, code.as_deref().unwrap_or_default(), &message, reasons, resource)
}

/// The first `"CapacityUnits":` number of a body: the total, which stands before the parts by index.
fn consumed_units(body: &[u8]) -> Option<Units> {
    const NAME: &[u8] = b"\"CapacityUnits\":";
    let rest = body.get(memchr::memmem::find(body, NAME)? + NAME.len()..)?.trim_ascii_start();
    let digits = rest.iter().take_while(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'-' | b'+')).count();
    let text = std::str::from_utf8(rest.get(..digits)?).ok()?;
    text.parse().ok().map(Units::from_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Cause, Refusal};
    use proptest::prelude::*;

    fn throttled(status: u16, header: Option<&str>, body: &str) -> Refusal {
        match classify(status, header, body.as_bytes()) {
            Outcome::Throttled(refusal) => (*refusal).clone(),
            other => panic!("{other:?}"),
        }
    }

    fn kind(status: u16, header: Option<&str>, body: &str) -> FailureKind {
        match classify(status, header, body.as_bytes()) {
            Outcome::Failed(failure) => failure.kind,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_throttle_is_known_by_its_code_with_or_without_prefix_suffix_or_header() {
        for code in ["com.amazon.coral.availability#ThrottlingException", "ThrottlingException", "ThrottlingException:http://internal/"] {
            assert_eq!(throttled(400, None, &format!(r#"{{"__type":"{code}","message":"m"}}"#)).code, "ThrottlingException");
        }
        assert_eq!(throttled(400, Some("RequestLimitExceeded"), "{}").cause(), Cause::Account);
        assert_eq!(throttled(400, Some("ThrottlingException"), "<html>").message, "");
    }

    #[test]
    fn reasons_are_read_in_either_case() {
        for key in ["throttlingReasons", "ThrottlingReasons"] {
            let body = format!(
                r#"{{"__type":"x#ProvisionedThroughputExceededException","message":"m","{key}":[{{"reason":"TableWriteProvisionedThroughputExceeded","resource":"arn:aws:dynamodb:us-east-1:123456789012:table/t"}}]}}"#
            );
            let refusal = throttled(400, None, &body);
            assert_eq!(refusal.reasons, ["TableWriteProvisionedThroughputExceeded"]);
            assert_eq!(refusal.resource.as_deref(), Some("arn:aws:dynamodb:us-east-1:************:table/t"));
        }
    }

    #[test]
    fn what_is_no_throttle_is_failed_in_its_own_class() {
        assert_eq!(kind(400, None, r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"m"}"#), FailureKind::Invalid);
        assert_eq!(kind(400, None, r#"{"__type":"x#ResourceNotFoundException"}"#), FailureKind::NotFound);
        assert_eq!(kind(400, None, r#"{"__type":"x#UnrecognizedClientException"}"#), FailureKind::Denied);
        assert_eq!(kind(400, None, r#"{"__type":"x#TransactionInProgressException"}"#), FailureKind::OtherAnswer);
        assert_eq!(kind(500, None, "<html>"), FailureKind::Service);
        assert_eq!(kind(403, None, "<xml/>"), FailureKind::Denied);
        assert_eq!(kind(404, None, "<xml/>"), FailureKind::OtherAnswer);
        assert_eq!(kind(200, None, "<html>"), FailureKind::Garbled);
    }

    #[test]
    fn consumed_capacity_is_what_the_service_stated() {
        let units = |body: &str| match classify(200, None, body.as_bytes()) {
            Outcome::Accepted(units) => units.as_f64(),
            other => panic!("{other:?}"),
        };
        assert!((units(r#"{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0}}"#) - 1.0).abs() < 1e-9);
        assert!((units(r#"{"ConsumedCapacity":{"CapacityUnits": 0.5,"Table":{"CapacityUnits":7}}}"#) - 0.5).abs() < 1e-9);
        assert!(units("{}").abs() < 1e-9);
        assert!(units(r#"{"ConsumedCapacity":{"CapacityUnits":null}}"#).abs() < 1e-9);
        for garbled in [r#"{"ConsumedCapacity":{"CapacityUnits":1.0"#, r#"<"CapacityUnits":1.0>"#] {
            assert_eq!(kind(200, None, garbled), FailureKind::Garbled, "{garbled}");
        }
    }

    #[test]
    fn a_remembered_answer_is_the_same_as_a_fresh_one() {
        let mut classifier = Classifier::default();
        let (throttle, other) = (br#"{"__type":"x#ThrottlingException","message":"m"}"#, br#"{"__type":"x#ValidationException"}"#);
        for body in [throttle.as_slice(), throttle, other, other, throttle] {
            assert_eq!(classifier.classify(400, None, body), classify(400, None, body));
        }
    }

    proptest! {
        #[test]
        fn no_answer_makes_the_classifier_panic(status in 100u16..600, header in prop::option::of("\\PC{0,40}"), body in prop::collection::vec(any::<u8>(), 0..300)) {
            classify(status, header.as_deref(), &body);
        }
    }
}
