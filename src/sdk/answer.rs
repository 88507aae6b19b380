//! Answers: which of them the SDK may take for success, and what an answer as it came amounts to.

use std::sync::Arc;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::config::interceptors::{AfterDeserializationInterceptorContextRef, BeforeDeserializationInterceptorContextRef};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;

use crate::load::{Failure, FailureKind, Outcome};
use crate::wire::classify;

/// Answers may be this long, as with `wire`. One without a stated length is read before it is known to be too long.
const LARGEST_BODY: usize = 4 * 1_024 * 1_024;

/// Sees to it that success is what `wire` takes for it: the SDK alone would take any 2xx status, and an empty body, for an
/// answer that states no units.
#[derive(Debug)]
pub(super) struct Strict;

/// Why something is no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoAnswer {
    #[error("the answer is longer than {LARGEST_BODY} bytes")]
    TooLong,
    #[error("the answer is not a success with a body")]
    NoSuccess,
}

impl Intercept for Strict {
    fn name(&self) -> &'static str {
        "Strict"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let stated = context.response().headers().get("content-length").and_then(|length| length.parse::<u64>().ok());
        if stated.is_some_and(|length| length > LARGEST_BODY as u64) { Err(NoAnswer::TooLong.into()) } else { Ok(()) }
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response();
        let body = response.body().bytes();
        let fits = response.status().as_u16() == 200 && body.is_some_and(|body| (1..=LARGEST_BODY).contains(&body.len()));
        // What is an error already says more than this could.
        if fits || context.output_or_error().is_err() { Ok(()) } else { Err(NoAnswer::NoSuccess.into()) }
    }
}

/// What an answer amounts to that the SDK did not take for success. `said` is what the SDK says of it. `None` where its
/// body was not read to the end.
pub(super) fn outcome(response: &HttpResponse, said: &str) -> Option<Outcome> {
    let body = response.body().bytes()?;
    let garbled = |status, message: &str| Outcome::Failed(Arc::new(Failure::new(FailureKind::Garbled, None, status, message)));
    if body.len() > LARGEST_BODY {
        return Some(garbled(None, &NoAnswer::TooLong.to_string()));
    }
    let status = response.status().as_u16();
    let error_type = if status == 200 { None } else { response.headers().get("x-amzn-errortype") };
    match classify(status, error_type, body) {
        Outcome::Accepted(_) => Some(garbled(Some(status), &format!("the SDK cannot read the answer: {said}"))),
        other => Some(other),
    }
}
