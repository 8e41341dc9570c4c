//! How to reach a bucket: options, environment, endpoint, credentials.

use std::collections::BTreeMap;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use rheos_core::{Error, Result};
use tokio::sync::OnceCell;

use super::Bucket;

const ENDPOINT: &str = "s3.endpoint";
const ACCESS_KEY: &str = "s3.access-key";
const SECRET_KEY: &str = "s3.secret-key";
const REGION: &str = "s3.region";
const PATH_STYLE: &str = "s3.path.style.access";
const OPTIONS: [&str; 5] = [ENDPOINT, ACCESS_KEY, SECRET_KEY, REGION, PATH_STYLE];

/// How often a request that may be repeated is repeated.
const RETRIES: usize = 4;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the options and the environment of this process.
pub(super) fn connect(bucket: &str, prefix: &str, options: &BTreeMap<String, String>) -> Result<Bucket> {
    let environment = std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
    connect_with(bucket, prefix, options, &environment.collect())
}

fn connect_with(bucket: &str, prefix: &str, options: &BTreeMap<String, String>, environment: &BTreeMap<String, String>) -> Result<Bucket> {
    let settings = Settings::read(bucket, options, environment)?;
    let slash = if prefix.is_empty() { "" } else { "/" };
    let at = settings.endpoint.as_ref().map_or_else(String::new, |e| format!(" at {e}"));
    let description = format!("s3://{bucket}{slash}{prefix}{at}");
    let wrong = |e: object_store::Error| Error::config(format!("{description}: {e}")).caused_by(e);
    let build = |retries| -> object_store::Result<AmazonS3Builder> {
        let retry = RetryConfig {
            backoff: BackoffConfig { max_backoff: Duration::from_secs(3), ..BackoffConfig::default() },
            max_retries: retries,
            ..RetryConfig::default()
        };
        Ok(settings.builder(bucket, environment)?.with_retry(retry))
    };
    let repeating: AmazonS3 = build(RETRIES).and_then(AmazonS3Builder::build).map_err(wrong)?;
    let credentials = repeating.credentials().clone();
    let once = build(0).and_then(|b| b.with_credentials(credentials).build()).map_err(wrong)?;
    // Amazon heeds conditions; others are asked once.
    let heeds_conditions = if settings.endpoint.is_none() { OnceCell::new_with(Some(())) } else { OnceCell::new() };
    Ok(Bucket { repeating, once, description, prefix: prefix.to_string(), heeds_conditions })
}

/// What options and environment say together.
struct Settings {
    /// With its scheme; none is Amazon's.
    endpoint: Option<String>,
    keys: Option<(String, String)>,
    region: Option<String>,
    is_path_style: bool,
}

impl Settings {
    fn read(bucket: &str, options: &BTreeMap<String, String>, environment: &BTreeMap<String, String>) -> Result<Settings> {
        if let Some(unknown) = options.keys().find(|k| k.starts_with("s3.") && !OPTIONS.contains(&k.as_str())) {
            return Err(Error::config(format!("option '{unknown}' is unknown; those of S3 are {}", OPTIONS.join(", "))));
        }
        let option = |key: &str| options.get(key).map(|v| v.trim().to_string()).filter(|v| !v.is_empty());
        let keys = match (option(ACCESS_KEY), option(SECRET_KEY)) {
            (Some(access), Some(secret)) => Some((access, secret)),
            (None, None) => None,
            (Some(_), None) => return Err(Error::config(format!("option '{ACCESS_KEY}' is given without '{SECRET_KEY}'"))),
            (None, Some(_)) => return Err(Error::config(format!("option '{SECRET_KEY}' is given without '{ACCESS_KEY}'"))),
        };
        let from_environment = || ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"].iter().find_map(|k| environment.get(*k).cloned());
        let endpoint = option(ENDPOINT).or_else(from_environment).map(|e| with_scheme(&e)).transpose()?;
        let is_path_style = match option(PATH_STYLE).as_deref() {
            None => endpoint.is_some() || bucket.contains('.'),
            Some("true") => true,
            Some("false") => false,
            Some(other) => return Err(Error::config(format!("option '{PATH_STYLE}' is '{other}'; it must be true or false"))),
        };
        Ok(Settings { endpoint, keys, region: option(REGION), is_path_style })
    }

    fn builder(&self, bucket: &str, environment: &BTreeMap<String, String>) -> object_store::Result<AmazonS3Builder> {
        let mut builder = AmazonS3Builder::new().with_client_options(ClientOptions::new().with_connect_timeout(CONNECT_TIMEOUT));
        for (key, value) in environment.iter().filter(|(key, _)| key.starts_with("AWS_")) {
            let Ok(key) = key.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() else { continue };
            use AmazonS3ConfigKey as K;
            let is_ours = match key {
                K::Endpoint | K::S3Endpoint | K::VirtualHostedStyleRequest | K::Bucket => true,
                // A token belongs to the keys that it came with.
                K::AccessKeyId | K::SecretAccessKey | K::Token => self.keys.is_some(),
                _ => false,
            };
            if !is_ours {
                builder = builder.with_config(key, value);
            }
        }
        builder = builder.with_bucket_name(bucket).with_virtual_hosted_style_request(!self.is_path_style);
        if let Some((access, secret)) = &self.keys {
            builder = builder.with_access_key_id(access).with_secret_access_key(secret);
        }
        if let Some(region) = &self.region {
            builder = builder.with_region(region);
        }
        if let Some(endpoint) = &self.endpoint {
            builder = builder.with_allow_http(endpoint.starts_with("http://")).with_endpoint(self.bucket_endpoint(bucket, endpoint));
        }
        Ok(builder)
    }

    /// object_store wants the bucket in the endpoint's host where it is not in the path.
    fn bucket_endpoint(&self, bucket: &str, endpoint: &str) -> String {
        match endpoint.split_once("://") {
            Some((scheme, host)) if !self.is_path_style => format!("{scheme}://{bucket}.{host}"),
            _ => endpoint.to_string(),
        }
    }
}

/// The endpoint as a URL without a slash at its end; a bare host is reached by https.
fn with_scheme(endpoint: &str) -> Result<String> {
    let endpoint = endpoint.trim_end_matches('/');
    let (scheme, host) = endpoint.split_once("://").unwrap_or(("https", endpoint));
    if !matches!(scheme, "http" | "https") || host.is_empty() || host.contains(['@', ' ']) {
        return Err(Error::config(format!("option '{ENDPOINT}' is '{endpoint}'; it must be a host or a URL with http:// or https://")));
    }
    Ok(format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests;
