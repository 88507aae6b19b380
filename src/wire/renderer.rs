//! Whole requests, head and body, rendered into a buffer that is used again. What is the same for all requests of a second is
//! rendered and hashed once; for each there is a copy, the key, its hash and the signature.

use std::sync::Arc;
use std::time::SystemTime;

use super::endpoint::{Endpoint, failure};
use super::identity::Identities;
use super::sign::{Second, Signer};
use super::template::Template;
use crate::load::{Failure, FailureKind, Key, KindId, Op};

/// Renders and signs one shard's requests.
#[derive(Debug)]
pub(super) struct Renderer {
    template: Arc<Template>,
    signer: Signer,
    /// By the kind of the item.
    writes: Vec<Option<Page>>,
    read: Option<Page>,
}

/// A request with zeros for signature and key.
#[derive(Debug)]
struct Page {
    second: Second,
    bytes: Vec<u8>,
    signature_at: usize,
    body_at: usize,
}

impl Renderer {
    pub(super) fn new(endpoint: &Endpoint, identities: Identities, template: Arc<Template>) -> Self {
        let signer = Signer::new(endpoint.authority(), endpoint.region(), identities);
        let writes = std::iter::repeat_with(|| None).take(template.kinds()).collect();
        Self { template, signer, writes, read: None }
    }

    /// Puts the request for an operation on a key, signed at a wall-clock time, in place of what the buffer holds.
    pub(super) fn render(&mut self, op: Op, kind: KindId, key: Key, now: SystemTime, into: &mut Vec<u8>) -> Result<(), Arc<Failure>> {
        if self.signer.advance(now) {
            self.writes.fill_with(|| None);
            self.read = None;
        }
        let body = self.template.body(op, kind);
        // A kind that is not the template's has the first one's body, and so its page.
        let place = Some(kind.place()).filter(|place| *place < self.writes.len()).unwrap_or_default();
        let page = match op {
            Op::Write => &mut self.writes[place],
            Op::Read => &mut self.read,
        };
        let page = match page {
            Some(page) => page,
            none => none.insert(
                Page::new(&mut self.signer, op, body.bytes())
                    .ok_or_else(|| failure(FailureKind::Local, "the credentials hold characters that no HTTP header may"))?,
            ),
        };
        into.clear();
        into.extend_from_slice(&page.bytes);
        let hash = body.put_key(key, into.get_mut(page.body_at..).unwrap_or_default());
        if let Some(hole) = into.get_mut(page.signature_at..).and_then(<[u8]>::first_chunk_mut) {
            *hole = page.second.signature(&hash);
        }
        Ok(())
    }
}

impl Page {
    fn new(signer: &mut Signer, op: Op, body: &[u8]) -> Option<Self> {
        let second = signer.prepare(op, body.len())?;
        let mut bytes = second.head.clone().into_bytes();
        let signature_at = bytes.len();
        bytes.extend_from_slice(&[b'0'; 64]);
        bytes.extend_from_slice(b"\r\n\r\n");
        let body_at = bytes.len();
        bytes.extend_from_slice(body);
        Some(Self { second, bytes, signature_at, body_at })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::load::{Keys, Workload};
    use crate::wire::Identity;

    #[test]
    fn a_rendered_request_is_one_http_message_whose_parts_follow_time_and_key() {
        let template = Arc::new(Template::new("t", &Workload::new(1_000, Keys::Uniform, 1, false, 10)));
        let endpoint = Endpoint::parse("http://127.0.0.1:8000", "us-east-1").expect("an endpoint");
        let mut renderer = Renderer::new(&endpoint, Identities::fixed(Identity::dummy()), template);
        let mut text = |op, key, second| {
            let mut bytes = Vec::new();
            renderer.render(op, KindId::FIRST, Key(key), UNIX_EPOCH + Duration::from_secs(second), &mut bytes).expect("renders");
            String::from_utf8(bytes).expect("text")
        };
        let first = text(Op::Write, 1, 1_800_000_000);
        let (head, body) = first.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("POST / HTTP/1.1\r\nhost: 127.0.0.1:8000\r\n"), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
        assert!(!head.contains("Signature=0000000000000000"), "{head}");
        assert_eq!(text(Op::Write, 1, 1_800_000_000), first);
        // A key, a second and an operation make another request each; and the first comes back.
        let others = [text(Op::Write, 2, 1_800_000_000), text(Op::Write, 1, 1_800_000_001), text(Op::Read, 1, 1_800_000_000)];
        assert!(others.iter().all(|other| *other != first));
        assert_eq!(text(Op::Write, 1, 1_800_000_000), first);
    }
}
