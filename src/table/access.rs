//! Access: which endpoint, region and credentials, and a client for them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::StalledStreamProtectionConfig;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_types::endpoint_config::AccountIdEndpointMode;

use super::error::TableError;
use crate::wire::Identity;

/// One attempt of a control-plane call takes at most this long.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(8);
/// Finding credentials takes at most this long: the chain ends with instance metadata, which may be unreachable.
const CREDENTIALS_TIMEOUT: Duration = Duration::from_secs(10);

/// How the table is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// An endpoint on this machine, with dummy credentials: never a real account's.
    Loopback {
        /// Its URL.
        url: String,
        /// The region that requests are signed for.
        region: String,
    },
    /// Another endpoint, with the standard credential chain.
    Endpoint {
        /// Its URL.
        url: String,
        /// `--region`.
        region: Option<String>,
        /// `--profile`.
        profile: Option<String>,
    },
    /// Real DynamoDB, with the standard credential chain.
    Aws {
        /// `--region`, or what the standard chain found.
        region: String,
        /// `--profile`.
        profile: Option<String>,
    },
}

/// A control-plane client.
#[derive(Clone)]
pub struct Control {
    pub(super) client: Client,
    endpoint: String,
    region: String,
    credentials: SharedCredentialsProvider,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Control({} {})", self.endpoint, self.region)
    }
}

impl Control {
    /// A client for this access. Looks the credentials up once, so that missing ones are said before anything is created.
    pub async fn connect(access: &Access) -> Result<Self, TableError> {
        match access {
            Access::Loopback { url, region } => {
                let dummy = Identity::dummy();
                let credentials = Credentials::new(dummy.access_key_id, dummy.secret_access_key, None, None, "loopback");
                let http = if url.starts_with("https:") { https() } else { plain_http() };
                Ok(Self::build(url.clone(), region.clone(), SharedCredentialsProvider::new(credentials), http))
            }
            Access::Endpoint { url, region, profile } => {
                let config = load(region.as_deref(), profile.as_deref()).await;
                let region = config.region().map_or_else(|| "us-east-1".to_owned(), ToString::to_string);
                let control = Self::build(url.clone(), region, provider(&config)?, https());
                control.identity().await?;
                Ok(control)
            }
            Access::Aws { region, profile } => {
                let config = load(Some(region), profile.as_deref()).await;
                let control = Self::build(effective_endpoint(region), region.clone(), provider(&config)?, https());
                control.identity().await?;
                Ok(control)
            }
        }
    }

    fn build(endpoint: String, region: String, credentials: SharedCredentialsProvider, http: SharedHttpClient) -> Self {
        let timeouts =
            TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).connect_timeout(Duration::from_millis(3_100)).build();
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(region.clone()))
            .endpoint_url(&endpoint)
            .account_id_endpoint_mode(AccountIdEndpointMode::Disabled)
            .credentials_provider(credentials.clone())
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(http)
            .build();
        Self { client: Client::from_conf(config), endpoint, region, credentials }
    }

    /// The effective endpoint URL.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The region that requests are signed for.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// The credentials as they are now, and when they expire.
    pub async fn identity(&self) -> Result<(Arc<Identity>, Option<SystemTime>), TableError> {
        let found = tokio::time::timeout(CREDENTIALS_TIMEOUT, self.credentials.provide_credentials()).await;
        let credentials = match found {
            Ok(Ok(credentials)) => credentials,
            Ok(Err(_)) => return Err(TableError::NoCredentials("none found in the environment, the profile or the instance".to_owned())),
            Err(_) => return Err(TableError::NoCredentials("none found within 10 s".to_owned())),
        };
        let identity = Identity {
            access_key_id: credentials.access_key_id().to_owned(),
            secret_access_key: credentials.secret_access_key().to_owned(),
            session_token: credentials.session_token().map(str::to_owned),
        };
        Ok((Arc::new(identity), credentials.expiry()))
    }
}

/// The region that the standard chain finds: environment, profile, instance. Blocks; for use before anything runs.
pub fn find_region(profile: Option<&str>) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let found = runtime.block_on(async { tokio::time::timeout(CREDENTIALS_TIMEOUT, load(None, profile)).await });
    runtime.shutdown_background();
    found.ok()?.region().map(ToString::to_string)
}

async fn load(region: Option<&str>, profile: Option<&str>) -> SdkConfig {
    let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(https());
    if let Some(region) = region {
        loader = loader.region(Region::new(region.to_owned()));
    }
    if let Some(profile) = profile {
        loader = loader.profile_name(profile);
    }
    loader.load().await
}

fn provider(config: &SdkConfig) -> Result<SharedCredentialsProvider, TableError> {
    config.credentials_provider().ok_or_else(|| TableError::NoCredentials("no provider is configured".to_owned()))
}

/// The endpoint the SDK would use, account-id endpoints left out since they would carry the account into reports.
fn effective_endpoint(region: &str) -> String {
    let configured = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|url| !url.is_empty()));
    configured.unwrap_or_else(|| {
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        format!("https://dynamodb.{region}.{suffix}")
    })
}

/// Whether a text has the form of a region: `us-east-1`, `ap-southeast-2`, `us-gov-west-1`.
pub fn check_region(region: &str) -> Result<(), String> {
    let parts: Vec<&str> = region.split('-').collect();
    let letters = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
    let fits = parts.len() >= 3
        && parts[0].len() == 2
        && parts[..parts.len() - 1].iter().all(letters)
        && parts[parts.len() - 1].parse::<u8>().is_ok_and(|number| number > 0);
    if fits { Ok(()) } else { Err(format!("`{region}` is not an AWS region; type for example us-east-1")) }
}

/// A client without TLS. Neither this one nor [`https`] asks a proxy, so loopback traffic does not leave the machine.
fn plain_http() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().build_http()
}

fn https() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_has_the_form_of_a_region() {
        for region in ["us-east-1", "ap-southeast-2", "us-gov-west-1", "cn-north-1"] {
            assert_eq!(check_region(region), Ok(()), "{region}");
        }
        for region in ["", "us", "us-east", "US-EAST-1", "useast1", "us-east-one", "mars-1"] {
            assert!(check_region(region).is_err(), "{region}");
        }
    }
}
