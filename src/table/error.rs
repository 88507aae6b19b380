//! What went wrong on the control plane, as sentences.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use crate::load::outcome::mask_accounts;

/// Why the control plane could not do what was asked. Account ids are masked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// No credentials were found.
    #[error(
        "no AWS credentials: {0}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile with --profile, or try without an account: throttlescope run --target embedded"
    )]
    NoCredentials(String),
    /// The endpoint did not answer.
    #[error("cannot reach {endpoint}: {why}; check the endpoint, the region and the network")]
    Unreachable {
        /// The effective endpoint.
        endpoint: String,
        /// What the connection said.
        why: String,
        /// Whether the call may have been received all the same: there was a connection, and its answer is what is missing.
        received: bool,
    },
    /// The service refused.
    #[error("{what} was refused: {code}: {message}{}", advice(code))]
    Refused {
        /// The call.
        what: &'static str,
        /// The service's code.
        code: String,
        /// The service's message.
        message: String,
    },
    /// What answered is not DynamoDB, or not as it should be.
    #[error("{what} got an answer that is not DynamoDB's: {why}; is {endpoint} a DynamoDB endpoint?")]
    NotDynamoDb {
        /// The call.
        what: &'static str,
        /// What was wrong with it.
        why: String,
        /// The effective endpoint.
        endpoint: String,
    },
    /// Access was refused by something that gives no code of DynamoDB's.
    #[error(
        "{what} was refused with HTTP {status} and no error code, as by a proxy or a wrong endpoint; check the credentials, and whether {endpoint} is a DynamoDB endpoint"
    )]
    Denied {
        /// The call.
        what: &'static str,
        /// 401 or 403.
        status: u16,
        /// The effective endpoint.
        endpoint: String,
    },
    /// It took too long.
    #[error("{what} is not done after {seconds} s")]
    TooLong {
        /// The call.
        what: &'static str,
        /// How long was waited.
        seconds: u64,
    },
    /// The table is not there.
    #[error("there is no table `{0}` in this region; check the name, the region and the profile")]
    NoSuchTable(String),
    /// The table is not in a state that can be measured.
    #[error("table `{name}` is {status}; it can be measured when it is ACTIVE")]
    NotActive {
        /// The table.
        name: String,
        /// What DescribeTable says.
        status: String,
    },
    /// The table has a key that the workload cannot write or read.
    #[error("table `{name}` does not fit: {why}")]
    DoesNotFit {
        /// The table.
        name: String,
        /// Why.
        why: String,
    },
}

/// What to do about a refusal, where one thing is to be done.
fn advice(code: &str) -> &'static str {
    match code {
        "AccessDeniedException" => "; the permissions it needs are listed in the README, under On AWS",
        "ExpiredTokenException" => "; the session credentials have expired: sign in again",
        "UnrecognizedClientException" | "InvalidSignatureException" => "; the credentials are not valid in this region: check the profile",
        "LimitExceededException" => "; too many tables are changing at once: wait a minute and try again",
        _ => "",
    }
}

impl TableError {
    /// The service's error code, if it answered with one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// Whether a call that failed like this certainly changed nothing: it never got out, or was turned down.
    pub fn is_without_effect(&self) -> bool {
        match self {
            Self::Unreachable { received, .. } => !received,
            Self::Denied { .. } => true,
            Self::Refused { code, .. } => !matches!(code.as_str(), "InternalServerError" | "ServiceUnavailable"),
            _ => false,
        }
    }

    pub(super) fn of<E>(error: &SdkError<E, HttpResponse>, what: &'static str, endpoint: &str) -> Self
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        // An endpoint may carry an account id in its name.
        let endpoint = &mask_accounts(endpoint);
        let denied = |status: u16| matches!(status, 401 | 403).then(|| Self::Denied { what, status, endpoint: endpoint.to_owned() });
        match error {
            SdkError::ServiceError(context) => match context.err().code() {
                Some(code) => {
                    Self::Refused { what, code: code.to_owned(), message: mask_accounts(context.err().message().unwrap_or("no message")) }
                }
                None => denied(context.raw().status().as_u16()).unwrap_or_else(|| Self::NotDynamoDb {
                    what,
                    why: "an error without a code".to_owned(),
                    endpoint: endpoint.to_owned(),
                }),
            },
            SdkError::ResponseError(context) => denied(context.raw().status().as_u16()).unwrap_or_else(|| Self::NotDynamoDb {
                what,
                why: innermost(error),
                endpoint: endpoint.to_owned(),
            }),
            SdkError::TimeoutError(_) => {
                Self::Unreachable { endpoint: endpoint.to_owned(), why: "no answer in time".to_owned(), received: true }
            }
            _ => Self::Unreachable { endpoint: endpoint.to_owned(), why: innermost(error), received: !never_connected(error) },
        }
    }
}

/// The last cause of an error, which is the one that says something.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    mask_accounts(&cause.to_string())
}

/// Whether there was never a connection on which a call could have gone out.
fn never_connected(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(hyper_util::client::legacy::Error::is_connect) {
            return true;
        }
        cause = error.source();
    }
    false
}
