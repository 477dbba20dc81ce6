//! Keeps a turn's lease renewed, and learns when the turn is over.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use connection::Refusal;

use crate::backoff::{Backoff, until_answered};
use crate::client::Client;

/// The shares of a lease in which it is renewed: two renewals may be lost before it runs out.
const RENEWALS_PER_LEASE: u64 = 3;
/// The longest wait that a heartbeat may ask for, in milliseconds.
const LONGEST_WAIT_MS: u64 = 60_000;

/// Heartbeats of one turn, from its grant until this is dropped.
#[derive(Debug)]
pub struct Heartbeat {
    task: JoinHandle<Result<String, Box<Refusal>>>,
}

impl Heartbeat {
    /// Begins: each request is a long poll of a third of the lease, so that the lease is always renewed and a
    /// cancellation is heard at once. A lost connection is retried, for as long as it takes; the server
    /// decides whether the turn outlived it.
    pub fn start(client: Client, turn_id: String, lease_ms: u64, retry_after: Duration) -> Self {
        Heartbeat {
            task: tokio::spawn(until_over(client, turn_id, lease_ms, retry_after)),
        }
    }

    /// Waits until the turn is over and tells why: `canceled`, `expired`, `ended` or `superseded`. May be
    /// waited for once.
    ///
    /// # Errors
    /// When the server refuses to hear the heartbeat.
    pub async fn over(&mut self) -> Result<String, Box<Refusal>> {
        match (&mut self.task).await {
            Ok(over) => over,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn until_over(
    client: Client,
    turn_id: String,
    mut lease_ms: u64,
    retry_after: Duration,
) -> Result<String, Box<Refusal>> {
    loop {
        let wait_ms = lease_ms
            .checked_div(RENEWALS_PER_LEASE)
            .unwrap_or_default()
            .clamp(1, LONGEST_WAIT_MS);
        let wait = Duration::from_millis(wait_ms);
        let begun = Instant::now();
        let pulse = until_answered(Backoff::capped(retry_after, wait), "heartbeat", || {
            client.heartbeat(&turn_id, wait_ms)
        })
        .await?;
        if !pulse.live {
            return Ok(pulse.reason.unwrap_or_else(|| "over".to_owned()));
        }
        lease_ms = pulse.lease_ms.unwrap_or(lease_ms);
        // A server that answers without waiting must not be asked in a tight loop.
        let rest = wait.saturating_sub(begun.elapsed());
        if rest > wait.div_f64(2.0) {
            tokio::time::sleep(rest).await;
        }
    }
}
