//! Request bodies: everything but the key is rendered once.

use crate::load::workload::{KEY_DIGITS, KEY_NAME, PAYLOAD_NAME};
use crate::load::{Key, Op, Workload};

/// The bodies of a session's requests. The account-wide part of every request is the same; the key stands at a fixed place.
#[derive(Debug)]
pub(super) struct Template {
    write: Body,
    read: Body,
}

/// A body with a hole of [`KEY_DIGITS`] bytes for the key.
#[derive(Debug)]
pub(super) struct Body {
    bytes: Vec<u8>,
    key_at: usize,
}

impl Template {
    /// Bodies for a table. The payload is the same for all items: what it says does not matter to the service.
    pub(super) fn new(table: &str, workload: &Workload) -> Self {
        let filler: String = ('a'..='z').cycle().take(workload.payload_bytes()).collect();
        // Table names are `[A-Za-z0-9_.-]`, so nothing in a body needs escaping.
        let before_key = format!(r#"{{"TableName":"{table}","ReturnConsumedCapacity":"TOTAL","#);
        let write =
            Body::new(&format!(r#"{before_key}"Item":{{"{KEY_NAME}":{{"S":""#), &format!(r#""}},"{PAYLOAD_NAME}":{{"S":"{filler}"}}}}}}"#));
        let consistent = workload.consistent_read;
        let read = Body::new(&format!(r#"{before_key}"ConsistentRead":{consistent},"Key":{{"{KEY_NAME}":{{"S":""#), r#""}}}"#);
        Self { write, read }
    }

    /// The body of an operation.
    pub(super) fn body(&self, op: Op) -> &Body {
        match op {
            Op::Write => &self.write,
            Op::Read => &self.read,
        }
    }
}

impl Body {
    fn new(before_key: &str, after_key: &str) -> Self {
        let mut bytes = Vec::with_capacity(before_key.len() + KEY_DIGITS + after_key.len());
        bytes.extend_from_slice(before_key.as_bytes());
        bytes.extend_from_slice(&[b'0'; KEY_DIGITS]);
        bytes.extend_from_slice(after_key.as_bytes());
        Self { bytes, key_at: before_key.len() }
    }

    /// Appends the body for `key`.
    pub(super) fn render(&self, key: Key, into: &mut bytes::BytesMut) {
        let start = into.len();
        into.extend_from_slice(&self.bytes);
        let at = start + self.key_at;
        into[at..at + KEY_DIGITS].copy_from_slice(&key.digits());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Keys;

    #[test]
    fn a_rendered_body_is_the_request_that_was_meant() {
        let workload = Workload::new(1_000, Keys::Uniform, 1, true, 10);
        let template = Template::new("throttlescope-ts-1", &workload);
        let mut body = bytes::BytesMut::new();
        template.body(Op::Write).render(Key(0xabc), &mut body);
        let json: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(json["Item"]["pk"]["S"], "0000000000000abc");
        let size: usize = 2 + 16 + 4 + json["Item"]["data"]["S"].as_str().expect("text").len();
        assert_eq!(size, 1_000);
        body.clear();
        template.body(Op::Read).render(Key(1), &mut body);
        let json: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(json["Key"]["pk"]["S"], "0000000000000001");
        assert_eq!(json["ConsistentRead"], true);
    }
}
