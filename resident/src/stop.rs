//! Being asked to stop: SIGINT and SIGTERM, counted.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::error::Failure;

/// Hears the signals. The first asks to stop after the turn, the second to stop the command too.
#[derive(Debug, Clone)]
pub struct Stop {
    count: watch::Receiver<u32>,
}

impl Stop {
    /// Begins to listen; from now on neither signal ends the process by itself.
    ///
    /// # Errors
    /// [`Failure::Broken`] when the system refuses.
    pub fn listen() -> Result<Self, Failure> {
        let refused = |error| Failure::Broken(format!("signals cannot be heard: {error}"));
        let mut interrupt = signal(SignalKind::interrupt()).map_err(refused)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(refused)?;
        let (sender, count) = watch::channel(0_u32);
        tokio::spawn(async move {
            loop {
                let heard = tokio::select! {
                    heard = interrupt.recv() => heard,
                    heard = terminate.recv() => heard,
                };
                if heard.is_none() {
                    return;
                }
                sender.send_modify(|count| *count = count.saturating_add(1));
            }
        });
        Ok(Stop { count })
    }

    /// Waits for the first signal; at once if it has come.
    pub async fn requested(&self) {
        self.at_least(1).await;
    }

    /// Waits for the second signal; at once if it has come.
    pub async fn insisted(&self) {
        self.at_least(2).await;
    }

    /// Waits for one more signal than there have been.
    pub async fn again(&self) {
        let next = self.count.borrow().saturating_add(1);
        self.at_least(next).await;
    }

    async fn at_least(&self, wanted: u32) {
        let mut count = self.count.clone();
        if count.wait_for(|count| *count >= wanted).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
