//! Credentials that may be refreshed while the load runs, as the SDK asks for them: before every request.

use std::sync::{Mutex, PoisonError};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, future};

use crate::wire::{Identities, Identity};

/// The newest credentials, kept in the SDK's own form until there are newer ones.
#[derive(Debug)]
pub(super) struct Refreshed(Mutex<Known>);

#[derive(Debug)]
struct Known {
    identities: Identities,
    credentials: Credentials,
}

impl Refreshed {
    pub(super) fn new(mut identities: Identities) -> Self {
        let credentials = credentials(&identities.newest());
        Self(Mutex::new(Known { identities, credentials }))
    }

    fn now(&self) -> Credentials {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(newer) = known.identities.newer() {
            known.credentials = credentials(&newer);
        }
        known.credentials.clone()
    }
}

impl ProvideCredentials for Refreshed {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::ready(Ok(self.now()))
    }
}

fn credentials(identity: &Identity) -> Credentials {
    let (key, secret, token) = (&identity.access_key_id, &identity.secret_access_key, &identity.session_token);
    Credentials::new(key.clone(), secret.clone(), token.clone(), None, "throttlescope")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::watch;

    use super::*;

    #[test]
    fn the_next_request_after_a_refresh_is_signed_with_the_new_credentials() {
        let named = |name: &str| Identity {
            access_key_id: name.to_owned(),
            secret_access_key: "s".to_owned(),
            session_token: Some(format!("token of {name}")),
        };
        let (sender, receiver) = watch::channel(Arc::new(named("old")));
        let refreshed = Refreshed::new(Identities::new(receiver));
        assert_eq!(refreshed.now().access_key_id(), "old");
        sender.send_replace(Arc::new(named("new")));
        assert_eq!((refreshed.now().access_key_id(), refreshed.now().session_token()), ("new", Some("token of new")));
        drop(sender);
        assert_eq!(refreshed.now().access_key_id(), "new");
        assert!(!format!("{refreshed:?}").contains("token of"), "{refreshed:?}");
    }
}
