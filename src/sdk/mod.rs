//! The other data-plane client: aws-sdk-dynamodb as an application uses it, with retries off, so that one request is one
//! attempt here too. It sends the same operations with the same keys and payload as `wire`, and its errors end up in the
//! same classes, since both read an answer with one function.
//!
//! What differs is the SDK's own behaviour, which is what this client is there to show: it keeps its own pool of
//! connections and opens them when a request finds none free, so that connecting is part of service latency and no
//! connection can be opened ahead; it gives up connections on which the service failed; and what it cannot read as the
//! answer of the operation fails, although it may be JSON.

mod answer;
mod credentials;
mod error;
mod lane;

pub use lane::SdkLane;

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Config, IdentityCache, Region, SharedCredentialsProvider, SharedHttpClient, StalledStreamProtectionConfig,
};
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_types::endpoint_config::AccountIdEndpointMode;

use crate::load::{Target, Workload};
use crate::wire::Identities;
use answer::Strict;
use credentials::Refreshed;
use error::Place;
use lane::Template;

/// Connecting takes at most this long, as with `wire`; the request timeout bounds it as well.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(3_100);

/// One shard's access to a table through the SDK. A clone makes its own client, and so its own connections.
#[derive(Debug)]
pub struct SdkTarget {
    place: Arc<Place>,
    region: String,
    identities: Identities,
    template: Arc<Template>,
    /// Made with the first lane, in the thread that uses it.
    client: Option<Client>,
}

impl SdkTarget {
    /// A target for `table` at the endpoint `url`, signed for `region`.
    pub fn new(url: &str, region: &str, identities: Identities, table: &str, workload: &Workload) -> Self {
        let template = Arc::new(Template::new(table, workload));
        Self { place: Arc::new(Place::new(url)), region: region.to_owned(), identities, template, client: None }
    }

    fn connect(&self) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(self.region.clone()))
            .endpoint_url(self.place.url())
            .account_id_endpoint_mode(AccountIdEndpointMode::Disabled)
            .credentials_provider(SharedCredentialsProvider::new(Refreshed::new(self.identities.clone())))
            // Credentials are refreshed elsewhere; a cache here would sign with old ones for a while.
            .identity_cache(IdentityCache::no_cache())
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .interceptor(Strict)
            .http_client(http(self.place.is_secure()))
            .build();
        Client::from_conf(config)
    }
}

impl Clone for SdkTarget {
    fn clone(&self) -> Self {
        Self {
            place: Arc::clone(&self.place),
            region: self.region.clone(),
            identities: self.identities.clone(),
            template: Arc::clone(&self.template),
            client: None,
        }
    }
}

impl Target for SdkTarget {
    type Lane = SdkLane;

    fn lane(&mut self) -> SdkLane {
        let client = match self.client.take() {
            Some(client) => client,
            None => self.connect(),
        };
        self.client = Some(client.clone());
        SdkLane::new(client, Arc::clone(&self.place), Arc::clone(&self.template))
    }
}

/// The shard has a request timeout of its own, for both clients the same.
fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .disable_read_timeout()
        .disable_operation_timeout()
        .disable_operation_attempt_timeout()
        .build()
}

/// Neither of them ever asks a proxy, as `wire` does not.
fn http(secure: bool) -> SharedHttpClient {
    let builder = aws_smithy_http_client::Builder::new();
    if secure { builder.tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https() } else { builder.build_http() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Keys;
    use crate::wire::Identity;

    #[test]
    fn the_lanes_of_a_target_share_a_client_and_a_clone_has_its_own() {
        let workload = Workload::new(1_000, Keys::Uniform, 1, false, 10);
        let identities = Identities::fixed(Identity::dummy());
        let mut target = SdkTarget::new("http://127.0.0.1:1", "us-east-1", identities, "t", &workload);
        assert!(target.client.is_none(), "made in the thread that uses it");
        let _lanes = [target.lane(), target.lane()];
        assert!(target.client.is_some() && target.clone().client.is_none());
    }
}
