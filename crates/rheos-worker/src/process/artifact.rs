//! Fetches what the coordinator stores by its content.

use rheos_core::{Error, Result};
use rheos_protocol::token::Token;
use rheos_protocol::v1;
use rheos_protocol::v1::control_client::ControlClient;
use sha2::{Digest, Sha256};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

use super::broken;

/// How a worker speaks to its coordinator.
pub(crate) type Client = ControlClient<InterceptedService<Channel, Token>>;

/// The largest artifact.
const MAX_ARTIFACT_BYTES: usize = 1 << 30;

/// Fetches an artifact and checks that it is the right one.
pub(crate) async fn fetch(client: &mut Client, hash: &str) -> Result<Vec<u8>> {
    let request = v1::ArtifactRequest { hash: hash.to_string() };
    let mut chunks = client.artifact(request).await.map_err(|status| broken(&status.message()))?.into_inner();
    let mut content = Vec::new();
    while let Some(chunk) = chunks.message().await.map_err(|status| broken(&status.message()))? {
        content.extend_from_slice(&chunk.content);
        if content.len() > MAX_ARTIFACT_BYTES {
            return Err(Error::config(format!("artifact '{hash}' is larger than {MAX_ARTIFACT_BYTES} bytes")));
        }
    }
    let found: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    if found != hash {
        return Err(Error::corrupt(format!("artifact '{hash}' has come with the hash {found}")));
    }
    Ok(content)
}
