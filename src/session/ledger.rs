//! Asks the simulated endpoint what it counted, over HTTP like any other client of it.

use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::report::TargetLedger;

const TIMEOUT: Duration = Duration::from_secs(5);
const LARGEST: usize = 16 * 1_024 * 1_024;

/// What the endpoint at `address` counted of `table`. The error says why it is not known.
pub(super) async fn ask(address: std::net::SocketAddr, table: &str) -> Result<TargetLedger, String> {
    let asked = tokio::time::timeout(TIMEOUT, get(address, format!("/throttlescope/ledger?table={table}"))).await;
    let body = asked.map_err(|_| "no answer in time".to_owned())??;
    serde_json::from_slice(&body).map_err(|e| format!("its answer does not read: {e}"))
}

async fn get(address: std::net::SocketAddr, path: String) -> Result<bytes::Bytes, String> {
    let stream = TcpStream::connect(address).await.map_err(|e| e.to_string())?;
    let (mut sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
    let request = hyper::Request::get(path)
        .header(hyper::header::HOST, address.to_string())
        .body(Empty::<bytes::Bytes>::new())
        .map_err(|e| e.to_string())?;
    let talk = async move {
        let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
        if !response.status().is_success() {
            return Err(format!("HTTP {}", response.status()));
        }
        Limited::new(response.into_body(), LARGEST).collect().await.map(http_body_util::Collected::to_bytes).map_err(|e| e.to_string())
    };
    tokio::pin!(talk, driver);
    tokio::select! {
        answer = &mut talk => answer,
        _ = &mut driver => talk.await,
    }
}
