//! The optional limit on how often one caller may call: the binding `RATE_LIMITER`.

use protocol::error::{A2aError, Reason};
use protocol::pseudonym;

use crate::config::Config;
use crate::reply::Failure;
use crate::router::Caller;
use crate::runtime::log;

/// When a caller over the limit may come again, in seconds. The binding does not tell its period, which is 10 or 60
/// seconds; after the longer one there is room in any case.
const RETRY_AFTER_S: &str = "60";

/// Counts the request, where a limit is configured.
///
/// A limiter that fails lets the request pass, with a line in the log: it protects the endpoint, and is not what keeps
/// principals apart.
///
/// # Errors
/// `RESOURCE_EXHAUSTED`, with `Retry-After`, where the caller is over its limit.
pub async fn check(config: &Config, caller: &Caller) -> Result<(), Failure> {
    let Some(limiter) = &config.rate_limiter else {
        return Ok(());
    };
    match limiter.is_within(&key(caller)).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure {
            error: A2aError::new(
                Reason::ResourceExhausted,
                "too many requests: slow down and retry with the same ids",
            ),
            headers: vec![("retry-after", RETRY_AFTER_S.to_owned())],
        }),
        Err(error) => {
            log::error("rate_limiter_failed", &[("reason", &error.to_string())]);
            Ok(())
        }
    }
}

/// What is counted together: all tokens of one principal, whatever their roles. A turn's token is not yet known to be
/// genuine, so it counts for its turn alone: a forged one uses up nobody's limit.
fn key(caller: &Caller) -> String {
    match caller {
        Caller::Credential(credential) => match &credential.principal {
            Some(principal) => pseudonym::of(principal),
            None => format!("resident/{}", credential.resident),
        },
        Caller::Turn {
            resident, turn_id, ..
        } => format!("turn/{resident}/{turn_id}"),
    }
}
