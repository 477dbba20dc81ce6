//! How often a call is made before its failure is the caller's.

use std::time::Duration;

use connection::CallError;

/// How calls are repeated. Delays double, and half of each is random, so that many sources that lost the same plane don't
/// come back at the same moment.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// How often a call is made, at least once.
    pub attempts: u32,
    /// The first delay.
    pub first_delay: Duration,
    /// No delay is longer.
    pub longest_delay: Duration,
}

impl Default for Retry {
    /// Four attempts within some seconds.
    fn default() -> Self {
        Self {
            attempts: 4,
            first_delay: Duration::from_millis(200),
            longest_delay: Duration::from_secs(5),
        }
    }
}

/// Whether a call may be made again when nobody knows whether the plane has acted on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The plane answers the second one as it would have the first.
    Safe,
    /// It may be made again only where the plane has done nothing for certain.
    Unsafe,
}

impl Retry {
    /// Makes `call` until it has an answer that another attempt would not change, or the attempts are used up.
    pub(crate) async fn run<T>(
        &self,
        repeat: Repeat,
        mut call: impl AsyncFnMut() -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let mut attempt = 1;
        loop {
            let error = match call().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let may_repeat = error.is_without_effect() || repeat == Repeat::Safe;
            if attempt >= self.attempts || !error.is_transient() || !may_repeat {
                return Err(error);
            }
            tokio::time::sleep(self.delay(attempt)).await;
            attempt = attempt.saturating_add(1);
        }
    }

    /// The pause after an attempt, counted from 1: between half of it and all of it.
    fn delay(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        let whole = self
            .first_delay
            .saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
            .min(self.longest_delay);
        whole.mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Repeat, Retry};
    use connection::CallError;
    use connection::Refusal;

    const QUICK: Retry = Retry {
        attempts: 3,
        first_delay: Duration::from_millis(1),
        longest_delay: Duration::from_millis(2),
    };

    fn refused(http_status: u16) -> CallError {
        CallError::Refused(Box::new(Refusal::read(http_status, b"")))
    }

    /// How often a call that always fails so is made.
    async fn attempts(repeat: Repeat, error: impl Fn() -> CallError) -> u32 {
        let mut made = 0_u32;
        let answer: Result<(), _> = QUICK
            .run(repeat, async || {
                made = made.saturating_add(1);
                Err(error())
            })
            .await;
        assert!(answer.is_err());
        made
    }

    #[tokio::test]
    async fn what_is_safe_to_repeat_is_repeated_while_that_may_help() {
        let lost = || CallError::Lost("reset".to_owned());
        assert_eq!(attempts(Repeat::Safe, lost).await, 3);
        assert_eq!(attempts(Repeat::Safe, || refused(504)).await, 3);
        assert_eq!(attempts(Repeat::Safe, || refused(409)).await, 1);
    }

    #[tokio::test]
    async fn what_is_not_safe_is_repeated_only_where_nothing_was_done() {
        let lost = || CallError::Lost("reset".to_owned());
        let unreached = || CallError::Unreached("refused".to_owned());
        assert_eq!(attempts(Repeat::Unsafe, lost).await, 1);
        assert_eq!(attempts(Repeat::Unsafe, || refused(504)).await, 1);
        assert_eq!(attempts(Repeat::Unsafe, || refused(503)).await, 3);
        assert_eq!(attempts(Repeat::Unsafe, unreached).await, 3);
    }

    #[test]
    fn delays_double_with_jitter_up_to_the_longest() {
        let retry = Retry::default();
        let mut whole = retry.first_delay;
        for attempt in 1..40 {
            let delay = retry.delay(attempt);
            assert!(
                delay >= whole / 2 && delay <= whole,
                "{delay:?} of {whole:?}"
            );
            whole = (whole * 2).min(retry.longest_delay);
        }
    }
}
