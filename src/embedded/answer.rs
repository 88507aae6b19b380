//! Answers: a status and a body with its checksum, ready to send.

use bytes::Bytes;

/// A finished answer. Cheap to clone, so that frequent ones are made once.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Bytes,
    /// Of the body.
    pub(super) crc32: u32,
}

impl Answer {
    pub(super) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let crc32 = crc32fast::hash(&body);
        Self { status, body, crc32 }
    }

    pub(super) fn ok(body: impl Into<Bytes>) -> Self {
        Self::new(200, body)
    }
}

/// Why a request was not served: becomes an error answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    status: u16,
    /// With its namespace, as DynamoDB writes it.
    code: &'static str,
    message: Option<String>,
    /// More members of the body, as JSON beginning with a comma.
    more: String,
}

macro_rules! problems {
    ($($(#[$doc:meta])* $name:ident: $status:literal $code:literal),+ $(,)?) => {
        $($(#[$doc])* pub(super) fn $name(message: impl Into<String>) -> Self {
            Self { status: $status, code: $code, message: Some(message.into()), more: String::new() }
        })+
    };
}

impl Problem {
    problems! {
        validation: 400 "com.amazon.coral.validate#ValidationException",
        serialization: 400 "com.amazon.coral.service#SerializationException",
        unknown_operation: 400 "com.amazon.coral.service#UnknownOperationException",
        not_found: 400 "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
        in_use: 400 "com.amazonaws.dynamodb.v20120810#ResourceInUseException",
        limit_exceeded: 400 "com.amazonaws.dynamodb.v20120810#LimitExceededException",
        too_large: 413 "com.amazon.coral.validate#ValidationException",
        internal: 500 "com.amazonaws.dynamodb.v20120810#InternalServerError",
    }

    /// A condition that did not hold, with the item that it was held against where that was asked for.
    pub(super) fn condition_failed(item: Option<&str>) -> Self {
        Self {
            status: 400,
            code: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
            message: Some("The conditional request failed".to_owned()),
            more: item.map(|item| format!(r#","Item":{item}"#)).unwrap_or_default(),
        }
    }

    /// What a missing table is to the data plane.
    pub(super) fn no_such_table() -> Self {
        Self::not_found("Requested resource not found")
    }

    #[cfg(test)]
    pub(super) fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    pub(super) fn answer(&self) -> Answer {
        let mut body = format!(r#"{{"__type":"{}""#, self.code);
        if let Some(message) = &self.message {
            // DynamoDB capitalises the member in the errors of its serialiser only.
            let member = if self.code.ends_with("#SerializationException") { "Message" } else { "message" };
            body.push_str(&format!(r#","{member}":{}"#, quoted(message)));
        }
        body.push_str(&self.more);
        body.push('}');
        Answer::new(self.status, body)
    }
}

/// The text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_the_empty_object_is_the_one_dynamodb_sends() {
        assert_eq!(Answer::ok("{}").crc32, 2_745_614_147);
    }

    #[test]
    fn a_problem_is_strict_json_whatever_its_message() {
        let body = Problem::validation("quote \" and \u{1} control").answer().body;
        let parsed: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(parsed["message"], "quote \" and \u{1} control");
        assert_eq!(parsed["__type"], "com.amazon.coral.validate#ValidationException");
    }
}
