//! SigV4 for one fixed shape of request: `POST /` with five or six headers. `aws-sigv4` computes the day's signing key; all that
//! is hashed before the body's own hash is hashed once a second. A test holds the result against `aws-sigv4`'s full signer.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_sigv4::sign::v4::generate_signing_key;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::identity::{Identities, Identity};
use crate::load::Op;

const CONTENT: &str = "application/x-amz-json-1.0";

/// Signs requests for one host and region.
#[derive(Debug)]
pub(super) struct Signer {
    host: String,
    region: String,
    identities: Identities,
    identity: Arc<Identity>,
    day: Option<Day>,
    second: u64,
}

struct Day {
    /// `20260827`.
    date: String,
    /// `20260827/us-east-1/dynamodb/aws4_request`.
    scope: String,
    key: Hmac<Sha256>,
}

/// What is the same for every request of an operation within a second.
#[derive(Clone, Debug)]
pub(super) struct Second {
    /// The request's head up to where the signature's 64 hexadecimal digits go.
    pub(super) head: String,
    /// The canonical request up to the body's hash, hashed.
    canonical: Sha256,
    /// The string to sign up to the canonical request's hash, authenticated.
    to_sign: Hmac<Sha256>,
}

impl std::fmt::Debug for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.scope)
    }
}

/// The value of `x-amz-target`.
pub(super) const fn target(op: Op) -> &'static str {
    match op {
        Op::Write => "DynamoDB_20120810.PutItem",
        Op::Read => "DynamoDB_20120810.GetItem",
    }
}

impl Second {
    /// The signature of a request whose body has this hash.
    pub(super) fn signature(&self, body: &[u8; 32]) -> [u8; 64] {
        let canonical = self.canonical.clone().chain_update(hex(body)).finalize();
        hex(&self.to_sign.clone().chain_update(hex(&canonical.into())).finalize().into_bytes().into())
    }
}

impl Signer {
    pub(super) fn new(host: &str, region: &str, mut identities: Identities) -> Self {
        let identity = identities.newest();
        Self { host: host.to_owned(), region: region.to_owned(), identities, identity, day: None, second: 0 }
    }

    /// Goes on to a wall-clock time, and says whether what was prepared before is of another second or other credentials.
    pub(super) fn advance(&mut self, now: SystemTime) -> bool {
        let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if let Some(identity) = self.identities.newer() {
            self.identity = identity;
            self.day = None;
        } else if second == self.second && self.day.is_some() {
            return false;
        }
        self.second = second;
        true
    }

    /// What all requests of an operation, with bodies of this length, have in common in the second that [`Self::advance`]
    /// went on to. `None` if a credential holds characters that no header may.
    pub(super) fn prepare(&mut self, op: Op, body_length: usize) -> Option<Second> {
        let (host, identity) = (self.host.clone(), Arc::clone(&self.identity));
        let token = identity.session_token.as_deref();
        let sendable = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if ![host.as_str(), &identity.access_key_id, token.unwrap_or_default()].into_iter().all(sendable) {
            return None;
        }
        let date = amz_date(self.second);
        let day = self.day_of(&date);
        let (names, target, scope) = (signed_headers(token.is_some()), target(op), &day.scope);
        let canonical = format!(
            "POST\n/\n\ncontent-type:{CONTENT}\nhost:{host}\nx-amz-date:{date}\n{}x-amz-target:{target}\n\n{names}\n",
            token.map_or(String::new(), |token| format!("x-amz-security-token:{token}\n"))
        );
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {host}\r\ncontent-type: {CONTENT}\r\ncontent-length: {body_length}\r\nx-amz-target: {target}\r\n\
             x-amz-date: {date}\r\n{}authorization: AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature=",
            token.map_or(String::new(), |token| format!("x-amz-security-token: {token}\r\n")),
            identity.access_key_id
        );
        let to_sign = day.key.clone().chain_update(format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n"));
        Some(Second { head, canonical: Sha256::new_with_prefix(canonical), to_sign })
    }

    fn day_of(&mut self, date: &str) -> &Day {
        let today = date.get(..8).unwrap_or_default();
        let old = self.day.take().filter(|day| day.date == today);
        let time = UNIX_EPOCH + std::time::Duration::from_secs(self.second);
        self.day.insert(old.unwrap_or_else(|| {
            let key = generate_signing_key(&self.identity.secret_access_key, time, &self.region, "dynamodb");
            Day { date: today.to_owned(), scope: format!("{today}/{}/dynamodb/aws4_request", self.region), key: hmac_of(key.as_ref()) }
        }))
    }
}

#[expect(clippy::expect_used, reason = "RFC 2104: an HMAC key may have any length")]
fn hmac_of(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("any length will do")
}

const fn signed_headers(with_token: bool) -> &'static str {
    if with_token { "content-type;host;x-amz-date;x-amz-security-token;x-amz-target" } else { "content-type;host;x-amz-date;x-amz-target" }
}

/// `20260827T120000Z`.
fn amz_date(second: u64) -> String {
    let at = i64::try_from(second).ok().and_then(|second| jiff::Timestamp::from_second(second).ok()).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xf)]]);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aws_credential_types::Credentials;
    use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
    use aws_sigv4::sign::v4::SigningParams;
    use proptest::prelude::*;

    use super::super::endpoint::Endpoint;
    use super::super::renderer::Renderer;
    use super::super::template::Template;
    use super::*;
    use crate::load::{Key, Keys, Workload};

    /// What aws-sigv4's own signer makes of the same request.
    fn reference(identity: &Identity, host: &str, region: &str, op: Op, body: &[u8], now: SystemTime) -> String {
        let credentials =
            Credentials::new(&identity.access_key_id, &identity.secret_access_key, identity.session_token.clone(), None, "test").into();
        let params = SigningParams::builder()
            .identity(&credentials)
            .region(region)
            .name("dynamodb")
            .time(now)
            .settings(SigningSettings::default())
            .build()
            .expect("complete")
            .into();
        let headers = [("content-type", CONTENT), ("host", host), ("x-amz-target", target(op))];
        let uri = format!("http://{host}/");
        let request = SignableRequest::new("POST", &uri, headers.into_iter(), SignableBody::Bytes(body)).expect("signable");
        let (instructions, _) = sign(request, &params).expect("signs").into_parts();
        instructions.headers().find(|(name, _)| name.eq_ignore_ascii_case("authorization")).expect("authorization").1.to_owned()
    }

    /// The `authorization` header of a request.
    fn authorization(signer: &mut Signer, op: Op, body: &[u8], now: SystemTime) -> String {
        signer.advance(now);
        let second = signer.prepare(op, body.len()).expect("sendable");
        let signature = second.signature(&Sha256::digest(body).into());
        let (_, authorization) = second.head.rsplit_once("authorization: ").expect("it is there");
        format!("{authorization}{}", String::from_utf8_lossy(&signature))
    }

    proptest! {
        #[test]
        fn the_signature_is_that_of_the_full_signer(
            second in 1_700_000_000u64..1_900_000_000,
            token in prop::option::of("[A-Za-z0-9+/=]{1,200}"),
            secret in "[A-Za-z0-9+/]{1,60}",
            region in "(us-east-1|eu-central-1|ap-northeast-1|us-gov-west-1|local)",
            port in prop::option::of(1u16..),
            body in "[ -~]{0,300}",
            read in any::<bool>(),
        ) {
            let identity = Identity { access_key_id: "AKIDEXAMPLE".to_owned(), secret_access_key: secret, session_token: token };
            let host = port.map_or("dynamodb.us-east-1.amazonaws.com".to_owned(), |port| format!("127.0.0.1:{port}"));
            let op = if read { Op::Read } else { Op::Write };
            let mut signer = Signer::new(&host, &region, Identities::fixed(identity.clone()));
            // Twice, the second time across midnight with the cached key of the day before.
            for later in [0, 86_400] {
                let now = UNIX_EPOCH + Duration::from_secs(second + later);
                prop_assert_eq!(authorization(&mut signer, op, body.as_bytes(), now), reference(&identity, &host, &region, op, body.as_bytes(), now));
            }
        }
    }

    proptest! {
        #[test]
        fn a_whole_request_is_signed_as_the_full_signer_would_whatever_it_names(
            table in "[a-zA-Z0-9_.-]{3,255}",
            access_key_id in "[A-Z0-9]{16,128}",
            secret in "[!-~]{1,60}",
            token in prop::option::of("[A-Za-z0-9+/=]{1,1500}"),
            region in "[a-z]{2}(-[a-z]{1,12}){1,3}-[1-9]",
            host in "(127\\.0\\.0\\.1|\\[::1\\]|localhost|dynamodb\\.eu-west-1\\.amazonaws\\.com)",
            port in prop::option::of(1u16..),
            day in 19_000u64..22_000,
            item_bytes in 30u32..3_000,
            keys in prop::collection::vec(any::<u64>(), 1..5),
            consistent in any::<bool>(),
        ) {
            let identity = Identity { access_key_id, secret_access_key: secret, session_token: token };
            let authority = port.map_or(host.clone(), |port| format!("{host}:{port}"));
            let endpoint = Endpoint::parse(&format!("http://{authority}"), &region).expect("an endpoint");
            let template = Template::new(&table, &Workload::new(item_bytes, Keys::Uniform, 1, consistent, 10));
            let mut renderer = Renderer::new(&endpoint, Identities::fixed(identity.clone()), Arc::new(template));
            let mut request = Vec::new();
            let midnight = day * 86_400;
            // Across midnight, on it, and back again, as a clock that is set may go.
            for second in [midnight - 1, midnight, midnight + 1, midnight - 1] {
                let now = UNIX_EPOCH + Duration::from_millis(second * 1_000 + 999);
                for (at, key) in keys.iter().enumerate() {
                    let op = if at % 2 == 0 { Op::Write } else { Op::Read };
                    renderer.render(op, crate::load::KindId::FIRST, Key(*key), now, &mut request).expect("renders");
                    let text = std::str::from_utf8(&request).expect("text");
                    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
                    let json: serde_json::Value = serde_json::from_str(body).expect("JSON");
                    prop_assert_eq!(json["TableName"].as_str(), Some(table.as_str()));
                    let signed = head.lines().find_map(|line| line.strip_prefix("authorization: ")).expect("signed");
                    prop_assert_eq!(signed, reference(&identity, endpoint.authority(), &region, op, body.as_bytes(), now));
                }
            }
        }
    }

    #[test]
    fn refreshed_credentials_sign_the_next_request() {
        let old = Identity::dummy();
        let new = Identity { access_key_id: "AKIDNEW".to_owned(), ..old.clone() };
        let (sender, receiver) = tokio::sync::watch::channel(Arc::new(old));
        let mut signer = Signer::new("h", "us-east-1", Identities::new(receiver));
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert!(authorization(&mut signer, Op::Write, b"", now).contains("Credential=throttlescope/"));
        sender.send_replace(Arc::new(new));
        assert!(authorization(&mut signer, Op::Write, b"", now).contains("Credential=AKIDNEW/"));
    }
}
