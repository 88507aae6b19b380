//! Classification of error answers by their code, and of failed connects: the same for every client.

use std::io;
use std::sync::Arc;

use super::outcome::{Failure, FailureKind, Outcome, Refusal};

/// What an error answer amounts to. `code` may carry a namespace or a suffix; empty means the answer had none.
pub fn by_code(http_status: u16, code: &str, message: &str, reasons: Vec<String>, resource: Option<&str>) -> Outcome {
    let code = bare(code);
    if is_throttle(code) {
        return Outcome::Throttled(Arc::new(Refusal::new(http_status, code, reasons, resource, message)));
    }
    let failure = if code.is_empty() {
        let said = format!("HTTP {http_status} without an error code");
        Failure::new(kind(http_status, code), None, Some(http_status), &said)
    } else {
        Failure::new(kind(http_status, code), Some(code), Some(http_status), message)
    };
    Outcome::Failed(Arc::new(failure))
}

/// Which side a failed connect speaks of: this machine's own limits, or the endpoint.
pub fn by_connecting(error: &io::Error) -> FailureKind {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied | io::ErrorKind::OutOfMemory => {
            FailureKind::Local
        }
        // EMFILE and ENFILE have no stable kind.
        _ if matches!(error.raw_os_error(), Some(23 | 24)) => FailureKind::Local,
        _ => FailureKind::Connect,
    }
}

/// Whether a code says no for capacity. Not the SDKs' own list of retryable throttles, which is wider.
fn is_throttle(code: &str) -> bool {
    matches!(code, "ThrottlingException" | "ProvisionedThroughputExceededException" | "RequestLimitExceeded")
}

fn kind(http_status: u16, code: &str) -> FailureKind {
    match code {
        "ResourceNotFoundException" => FailureKind::NotFound,
        "UnrecognizedClientException"
        | "MissingAuthenticationTokenException"
        | "MissingAuthenticationToken"
        | "InvalidSignatureException"
        | "SignatureDoesNotMatch"
        | "IncompleteSignatureException"
        | "IncompleteSignature"
        | "InvalidClientTokenId"
        | "ExpiredTokenException"
        | "AccessDeniedException"
        | "AccessDenied"
        | "OptInRequired" => FailureKind::Denied,
        "ValidationException" | "SerializationException" | "UnknownOperationException" | "ItemCollectionSizeLimitExceededException" => {
            FailureKind::Invalid
        }
        // Without a code as well: what refuses access is often not DynamoDB itself, but something before it.
        _ if matches!(http_status, 401 | 403) => FailureKind::Denied,
        _ if http_status >= 500 => FailureKind::Service,
        _ => FailureKind::OtherAnswer,
    }
}

/// `com.amazon.coral.availability#ThrottlingException` and `ThrottlingException:http://...` are both `ThrottlingException`.
fn bare(code: &str) -> &str {
    let code = code.rsplit_once('#').map_or(code, |(_, bare)| bare);
    code.split_once(':').map_or(code, |(bare, _)| bare).trim()
}
