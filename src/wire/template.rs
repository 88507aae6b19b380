//! Request bodies: everything but the key is rendered, and as far as it goes hashed, once.

use sha2::{Digest as _, Sha256};

use crate::load::workload::{KEY_DIGITS, KEY_NAME, PAYLOAD_NAME};
use crate::load::{Key, KindId, Op, Workload};

/// The bodies of a session's requests. Only the key differs from one to the next; it stands last, so that what is hashed for
/// each request is a block or two.
#[derive(Debug)]
pub(super) struct Template {
    /// By the kind of the item.
    writes: Vec<Body>,
    read: Body,
}

/// A body with a hole of [`KEY_DIGITS`] bytes for the key.
#[derive(Debug)]
pub(super) struct Body {
    bytes: Vec<u8>,
    key_at: usize,
    /// The hash of what stands before the key.
    hashed: Sha256,
}

impl Template {
    /// Bodies for a table. The payload is the same for all items: what it says does not matter to the service.
    pub(super) fn new(table: &str, workload: &Workload) -> Self {
        // Table names are `[A-Za-z0-9_.-]`, so nothing in a body needs escaping.
        let common = format!(r#"{{"TableName":"{table}","ReturnConsumedCapacity":"TOTAL","#);
        let write = |payload_bytes| {
            let filler: String = ('a'..='z').cycle().take(payload_bytes).collect();
            Body::new(&format!(r#"{common}"Item":{{"{PAYLOAD_NAME}":{{"S":"{filler}"}},"{KEY_NAME}":{{"S":""#), r#""}}}"#)
        };
        let writes = workload.kinds().iter().map(|kind| write(kind.payload_bytes())).collect();
        let consistent = workload.consistent_read;
        let read = Body::new(&format!(r#"{common}"ConsistentRead":{consistent},"Key":{{"{KEY_NAME}":{{"S":""#), r#""}}}"#);
        Self { writes, read }
    }

    /// The body of an operation on an item of a kind.
    pub(super) fn body(&self, op: Op, kind: KindId) -> &Body {
        match op {
            // The workload that the template was made of always has a first kind.
            Op::Write => self.writes.get(kind.place()).unwrap_or(&self.writes[0]),
            Op::Read => &self.read,
        }
    }

    /// How many kinds of items there are to write.
    pub(super) fn kinds(&self) -> usize {
        self.writes.len()
    }
}

impl Body {
    fn new(before_key: &str, after_key: &str) -> Self {
        let mut bytes = Vec::with_capacity(before_key.len() + KEY_DIGITS + after_key.len());
        bytes.extend_from_slice(before_key.as_bytes());
        bytes.extend_from_slice(&[b'0'; KEY_DIGITS]);
        bytes.extend_from_slice(after_key.as_bytes());
        Self { bytes, key_at: before_key.len(), hashed: Sha256::new_with_prefix(before_key) }
    }

    /// The body, with zeros for the key.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Puts the key into a copy of [`Body::bytes`], and gives the SHA-256 of the whole.
    pub(super) fn put_key(&self, key: Key, body: &mut [u8]) -> [u8; 32] {
        let Some((_, rest)) = body.split_at_mut_checked(self.key_at) else { return [0; 32] };
        if let Some(hole) = rest.first_chunk_mut::<KEY_DIGITS>() {
            *hole = key.digits();
        }
        self.hashed.clone().chain_update(rest).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Keys;

    #[test]
    fn a_rendered_body_is_the_request_that_was_meant() {
        let mut workload = Workload::new(1_000, Keys::Uniform, 1, true, 10);
        let large = workload.kind_of(4_096, Keys::Uniform).expect("room");
        let template = Template::new("throttlescope-ts-1", &workload);
        let body = |op, kind, key| {
            let mut bytes = template.body(op, kind).bytes().to_vec();
            let hash = template.body(op, kind).put_key(key, &mut bytes);
            assert_eq!(hash, <[u8; 32]>::from(Sha256::digest(&bytes)));
            serde_json::from_slice::<serde_json::Value>(&bytes).expect("JSON")
        };
        for (kind, bytes) in [(KindId::FIRST, 1_000), (large, 4_096)] {
            let json = body(Op::Write, kind, Key(0xabc));
            assert_eq!(json["Item"]["pk"]["S"], "0000000000000abc");
            let size: usize = 2 + 16 + 4 + json["Item"]["data"]["S"].as_str().expect("text").len();
            assert_eq!(size, bytes);
        }
        let json = body(Op::Read, large, Key(1));
        assert_eq!(json["Key"]["pk"]["S"], "0000000000000001");
        assert_eq!(json["ConsistentRead"], true);
    }
}
