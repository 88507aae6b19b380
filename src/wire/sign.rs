//! SigV4 for one fixed shape of request: `POST /` with five headers. The day's signing key is cached; `aws-sigv4` computes
//! the key and the signature.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_sigv4::sign::v4::{calculate_signature, generate_signing_key};
use http_body_util::Full;
use hyper::Request;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

use super::identity::{Identities, Identity};
use crate::load::Op;

const CONTENT: &str = "application/x-amz-json-1.0";
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// Signs requests for one host and region.
#[derive(Debug)]
pub(super) struct Signer {
    host: String,
    region: String,
    identities: Identities,
    identity: Arc<Identity>,
    day: Option<Day>,
    second: u64,
    /// `20260827T120000Z` of [`Self::second`].
    date: String,
}

struct Day {
    /// `20260827`.
    date: String,
    /// `20260827/us-east-1/dynamodb/aws4_request`.
    scope: String,
    key: Box<dyn AsRef<[u8]> + Send>,
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

impl Signer {
    pub(super) fn new(host: &str, region: &str, mut identities: Identities) -> Self {
        let identity = identities.newest();
        Self { host: host.to_owned(), region: region.to_owned(), identities, identity, day: None, second: 0, date: String::new() }
    }

    /// The signed request for a body, at a wall-clock time. `None` if a credential holds characters that no header may.
    pub(super) fn request(&mut self, op: Op, body: bytes::Bytes, now: SystemTime) -> Option<Request<Full<bytes::Bytes>>> {
        let authorization = self.authorization(op, &body, now);
        let mut request = Request::post("/")
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, HeaderValue::from_static(CONTENT))
            .header(TARGET, HeaderValue::from_static(target(op)))
            .header(DATE, self.date.as_str())
            .header(AUTHORIZATION, authorization);
        if let Some(token) = &self.identity.session_token {
            request = request.header(TOKEN, token);
        }
        request.body(Full::new(body)).ok()
    }

    fn authorization(&mut self, op: Op, body: &[u8], now: SystemTime) -> String {
        self.bring_up_to_date(now);
        let canonical = self.canonical_request(op, body);
        // `bring_up_to_date` has just set the day.
        let Some(day) = &self.day else { return String::new() };
        let mut to_sign = String::with_capacity(160);
        to_sign.push_str("AWS4-HMAC-SHA256\n");
        to_sign.push_str(&self.date);
        to_sign.push('\n');
        to_sign.push_str(&day.scope);
        to_sign.push('\n');
        push_hex(&mut to_sign, &Sha256::digest(canonical.as_bytes()));
        let signature = calculate_signature(day.key.as_ref(), to_sign.as_bytes());
        let mut header = String::with_capacity(260);
        header.push_str("AWS4-HMAC-SHA256 Credential=");
        header.push_str(&self.identity.access_key_id);
        header.push('/');
        header.push_str(&day.scope);
        header.push_str(", SignedHeaders=");
        header.push_str(self.signed_headers());
        header.push_str(", Signature=");
        header.push_str(&signature);
        header
    }

    /// The canonical request: method, path, no query, the signed headers in order, their names, the body's hash.
    fn canonical_request(&self, op: Op, body: &[u8]) -> String {
        let mut canonical = String::with_capacity(512);
        canonical.push_str("POST\n/\n\ncontent-type:");
        canonical.push_str(CONTENT);
        canonical.push_str("\nhost:");
        canonical.push_str(&self.host);
        canonical.push_str("\nx-amz-date:");
        canonical.push_str(&self.date);
        if let Some(token) = &self.identity.session_token {
            canonical.push_str("\nx-amz-security-token:");
            canonical.push_str(token);
        }
        canonical.push_str("\nx-amz-target:");
        canonical.push_str(target(op));
        canonical.push_str("\n\n");
        canonical.push_str(self.signed_headers());
        canonical.push('\n');
        push_hex(&mut canonical, &Sha256::digest(body));
        canonical
    }

    fn signed_headers(&self) -> &'static str {
        if self.identity.session_token.is_some() {
            "content-type;host;x-amz-date;x-amz-security-token;x-amz-target"
        } else {
            "content-type;host;x-amz-date;x-amz-target"
        }
    }

    fn bring_up_to_date(&mut self, now: SystemTime) {
        if let Some(identity) = self.identities.newer() {
            self.identity = identity;
            self.day = None;
        }
        let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if second == self.second && self.day.is_some() {
            return;
        }
        self.second = second;
        self.date = amz_date(second);
        let today = &self.date[..8];
        if self.day.as_ref().is_none_or(|day| day.date != today) {
            let key = generate_signing_key(&self.identity.secret_access_key, now, &self.region, "dynamodb");
            self.day =
                Some(Day { date: today.to_owned(), scope: format!("{today}/{}/dynamodb/aws4_request", self.region), key: Box::new(key) });
        }
    }
}

/// `20260827T120000Z`.
fn amz_date(second: u64) -> String {
    let at = i64::try_from(second).ok().and_then(|second| jiff::Timestamp::from_second(second).ok()).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn push_hex(into: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for nibble in [byte >> 4, byte & 0xf] {
            into.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aws_credential_types::Credentials;
    use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
    use aws_sigv4::sign::v4::SigningParams;
    use proptest::prelude::*;

    use super::*;

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
                prop_assert_eq!(signer.authorization(op, body.as_bytes(), now), reference(&identity, &host, &region, op, body.as_bytes(), now));
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
        assert!(signer.authorization(Op::Write, b"", now).contains("Credential=throttlescope/"));
        sender.send_replace(Arc::new(new));
        assert!(signer.authorization(Op::Write, b"", now).contains("Credential=AKIDNEW/"));
    }
}
