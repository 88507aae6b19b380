//! Who signs: credentials that may be refreshed while the load runs.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// One set of credentials. Its `Debug` shows nothing of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// Access key id.
    pub access_key_id: String,
    /// Secret access key.
    pub secret_access_key: String,
    /// Session token of temporary credentials.
    pub session_token: Option<String>,
}

impl Identity {
    /// The dummy credentials that loopback endpoints get: never a real account's.
    pub fn dummy() -> Self {
        Self { access_key_id: "throttlescope".to_owned(), secret_access_key: "loopback".to_owned(), session_token: None }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(hidden)")
    }
}

/// Credentials as they are now, and whether they have changed.
#[derive(Clone, Debug)]
pub struct Identities(watch::Receiver<Arc<Identity>>);

impl Identities {
    /// Credentials that change when the sender says so.
    pub fn new(receiver: watch::Receiver<Arc<Identity>>) -> Self {
        Self(receiver)
    }

    /// Credentials that never change.
    pub fn fixed(identity: Identity) -> Self {
        Self(watch::channel(Arc::new(identity)).1)
    }

    /// The newest credentials, if there are newer ones than the last time this was asked.
    pub fn newer(&mut self) -> Option<Arc<Identity>> {
        self.0.has_changed().unwrap_or(false).then(|| self.0.borrow_and_update().clone())
    }

    /// The newest credentials.
    pub fn newest(&mut self) -> Arc<Identity> {
        self.0.borrow_and_update().clone()
    }
}
