//! Where requests go, and how it is reached: by name, TCP, and TLS for https.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::connection::{Connection, Stream};
use crate::load::{Failure, FailureKind, by_connecting};

/// Connecting takes at most this long; the request timeout bounds it as well.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(3_100);

/// A parsed endpoint.
#[derive(Clone)]
pub struct Endpoint {
    name: String,
    port: u16,
    region: String,
    /// The `Host` header: the port only where it is not the scheme's own.
    authority: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    /// What the name resolved to, and when: shared by all connections, asked by one at a time.
    resolved: Arc<Mutex<Option<Resolved>>>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.authority)
    }
}

/// When a name was looked up, and what it resolved to.
type Resolved = (Instant, Vec<SocketAddr>);

/// Why something is not an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not an URL of the right form.
    #[error("`{0}` is not an endpoint; type for example http://127.0.0.1:8000 or https://dynamodb.us-east-1.amazonaws.com")]
    NotAnUrl(String),
    /// No trusted certificates on this machine.
    #[error("this machine has no trusted root certificates ({0}); install ca-certificates")]
    NoRoots(String),
}

/// A name is looked up again after this long.
const RESOLVE_AGAIN: Duration = Duration::from_secs(30);

impl Endpoint {
    /// Reads `http://HOST[:PORT]` or `https://HOST[:PORT]`, without a path.
    pub fn parse(url: &str, region: &str) -> Result<Self, EndpointError> {
        let wrong = || EndpointError::NotAnUrl(url.to_owned());
        let uri: hyper::Uri = url.parse().map_err(|_| wrong())?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong()),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() || uri.authority().is_some_and(|a| a.as_str().contains('@')) {
            return Err(wrong());
        }
        let default_port = if secure { 443 } else { 80 };
        let port = uri.port_u16().unwrap_or(default_port);
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let authority = if port == default_port { host.to_owned() } else { format!("{host}:{port}") };
        let tls = if secure {
            let server = ServerName::try_from(name.clone()).map_err(|_| wrong())?;
            Some((TlsConnector::from(Arc::new(tls_config()?)), server))
        } else {
            None
        };
        Ok(Self { name, port, region: region.to_owned(), authority, tls, resolved: Arc::default() })
    }

    /// The `Host` header.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The region that requests are signed for.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// The host's name or address, and the port.
    pub fn host(&self) -> (&str, u16) {
        (&self.name, self.port)
    }

    /// How TLS is spoken to it, and the name on its certificate; `None` for plain HTTP.
    pub fn tls(&self) -> Option<(TlsConnector, ServerName<'static>)> {
        self.tls.clone()
    }

    /// Opens one connection.
    pub(super) async fn connect(&self) -> Result<Connection, Arc<Failure>> {
        let opened = tokio::time::timeout(CONNECT_TIMEOUT, self.open()).await;
        opened.unwrap_or_else(|_| Err(failure(FailureKind::Connect, format!("no connection to {} within 3.1 s", self.authority))))
    }

    async fn open(&self) -> Result<Connection, Arc<Failure>> {
        let addresses = self.addresses().await?;
        let tcp = TcpStream::connect(addresses.as_slice())
            .await
            .map_err(|e| failure(by_connecting(&e), format!("cannot connect to {}: {e}", self.authority)))?;
        // Without it, small requests may wait for the previous answer's acknowledgement. A refusal costs speed, not truth.
        let _no_delay = tcp.set_nodelay(true);
        let stream = match &self.tls {
            None => Stream::Plain(tcp),
            Some((connector, server)) => {
                let tls = connector
                    .connect(server.clone(), tcp)
                    .await
                    .map_err(|e| failure(FailureKind::Tls, format!("TLS handshake with {} failed: {e}", self.authority)))?;
                Stream::Secure(Box::new(tls))
            }
        };
        Ok(Connection::new(stream))
    }

    /// The endpoint's addresses, looked up again every [`RESOLVE_AGAIN`]. One lookup at a time: each blocks a thread of the
    /// resolver, for tens of seconds when the network is gone.
    async fn addresses(&self) -> Result<Vec<SocketAddr>, Arc<Failure>> {
        if let Ok(address) = self.name.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, self.port)]);
        }
        let mut resolved = self.resolved.lock().await;
        if let Some((_, addresses)) = resolved.as_ref().filter(|(when, _)| when.elapsed() < RESOLVE_AGAIN) {
            return Ok(addresses.clone());
        }
        let found = tokio::net::lookup_host((self.name.as_str(), self.port)).await;
        let addresses: Vec<SocketAddr> =
            found.map_err(|e| failure(FailureKind::Dns, format!("cannot resolve {}: {e}", self.name)))?.collect();
        *resolved = Some((Instant::now(), addresses.clone()));
        Ok(addresses)
    }
}

fn tls_config() -> Result<rustls::ClientConfig, EndpointError> {
    let loaded = rustls_native_certs::load_native_certs();
    let mut roots = rustls::RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(loaded.certs);
    if added == 0 {
        let why = loaded.errors.first().map_or_else(|| "none found".to_owned(), ToString::to_string);
        return Err(EndpointError::NoRoots(why));
    }
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| EndpointError::NoRoots(e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

pub(super) fn failure(kind: FailureKind, message: impl AsRef<str>) -> Arc<Failure> {
    Arc::new(Failure::new(kind, None, None, message.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_read_and_a_wrong_one_is_told_what_to_type() {
        let authority = |url| Endpoint::parse(url, "r").map(|e| e.authority().to_owned());
        assert_eq!(authority("http://127.0.0.1:8000"), Ok("127.0.0.1:8000".to_owned()));
        assert_eq!(authority("http://localhost/"), Ok("localhost".to_owned()));
        assert_eq!(authority("http://[::1]:8000"), Ok("[::1]:8000".to_owned()));
        for url in ["127.0.0.1:8000", "ftp://x", "http://", "http://x/path", "http://u:p@x", "nonsense", ""] {
            assert!(matches!(Endpoint::parse(url, "r"), Err(EndpointError::NotAnUrl(_))), "{url}");
        }
    }
}
