//! Delays between attempts: exponential, jittered, capped.

use std::time::Duration;

use connection::{CallError, Refusal};

use crate::log;

/// No delay is longer than this.
pub const LONGEST: Duration = Duration::from_secs(30);

/// The delays of one series of attempts. Half of each delay is random, so that many residents which lost the
/// same server do not come back at the same moment.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// A series that begins with `first` and doubles up to [`LONGEST`].
    pub fn new(first: Duration) -> Self {
        Self::capped(first, LONGEST)
    }

    /// A series that begins with `first` and doubles up to `longest`, itself at most [`LONGEST`].
    pub fn capped(first: Duration, longest: Duration) -> Self {
        let longest = longest.min(LONGEST);
        let first = first.min(longest);
        Backoff {
            first,
            longest,
            next: first,
        }
    }

    /// The next delay: between half of it and all of it.
    pub fn delay(&mut self) -> Duration {
        let whole = self.next;
        self.next = whole.saturating_mul(2).min(self.longest);
        whole.mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    /// Begins anew, after a success.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

/// Makes `call` until it is answered, either way: a lost connection, a 5xx and the like are tried again, each
/// with a line that says so.
///
/// # Errors
/// A refusal that another attempt would not change.
pub async fn until_answered<T, Answer>(
    mut backoff: Backoff,
    what: &str,
    mut call: impl FnMut() -> Answer,
) -> Result<T, Box<Refusal>>
where
    Answer: Future<Output = Result<T, CallError>>,
{
    loop {
        let error = match call().await {
            Ok(answer) => return Ok(answer),
            Err(CallError::Refused(refusal)) if !refusal.is_transient() => return Err(refusal),
            Err(error) => error,
        };
        let delay = backoff.delay();
        log::line(format_args!(
            "retry call={what} in_ms={} cause=\"{error}\"",
            delay.as_millis()
        ));
        tokio::time::sleep(delay).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Backoff, LONGEST};

    #[test]
    fn delays_double_with_jitter_up_to_the_cap_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_millis(500));
        let mut whole = Duration::from_millis(500);
        for _ in 0..20 {
            let delay = backoff.delay();
            assert!(
                delay >= whole / 2 && delay <= whole,
                "{delay:?} is not within half of {whole:?}"
            );
            whole = (whole * 2).min(LONGEST);
        }
        assert_eq!(whole, LONGEST);
        backoff.reset();
        assert!(backoff.delay() <= Duration::from_millis(500));
    }

    #[test]
    fn a_series_may_have_a_lower_cap() {
        let mut backoff = Backoff::capped(Duration::from_secs(5), Duration::from_secs(1));
        for _ in 0..5 {
            assert!(backoff.delay() <= Duration::from_secs(1));
        }
    }
}
