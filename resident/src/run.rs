//! The runner's loop: take a turn, carry it out, take the next.

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use connection::{Endpoint, Refusal, Token};

use crate::backoff::{Backoff, until_answered};
use crate::cli;
use crate::client::{Client, Turn, is_identifier};
use crate::command;
use crate::error::Failure;
use crate::log;
use crate::stop::Stop;
use crate::turn::{self, Outcome, Workplace};

/// Takes turns until it is asked to stop, one at a time. A lost connection is waited out.
///
/// # Errors
/// [`Failure::Usage`] before anything is sent; [`Failure::Refused`] when the server does not know the token or
/// the request; [`Failure::Superseded`] when a newer session took over; [`Failure::TurnFailed`] with `--once`.
pub async fn run(arguments: cli::Run) -> Result<(), Failure> {
    let endpoint = Endpoint::parse_with(&arguments.url, arguments.insecure)?;
    let token = Token::new(arguments.token).map_err(|wrong| Failure::Usage(wrong.to_string()))?;
    let session = match arguments.session {
        Some(session) if is_identifier(&session) => session,
        Some(_) => {
            return Err(Failure::Usage(
                "--session must be letters, digits, `.`, `_`, `:` and `-`, at most 128, a letter or digit first"
                    .to_owned(),
            ));
        }
        None => Uuid::new_v4().to_string(),
    };
    let search_path = search_path()?;
    if let Some(program) = arguments.command.first()
        && !command::exists(program, &search_path)
    {
        return Err(Failure::Usage(format!(
            "the command {} is not a file and not on PATH",
            program.display()
        )));
    }
    hide_environment();
    command::adopt_orphans();
    let workplace = Workplace {
        command: arguments.command,
        search_path,
        kill_after: Duration::from_millis(arguments.kill_after_ms),
        retry_after: Duration::from_millis(arguments.retry_after_ms),
        insecure: arguments.insecure,
    };
    let client = Client::new(endpoint, token)?;
    let stop = Stop::listen()?;
    log::line(format_args!(
        "waiting for wakes url={} session={session}",
        client.endpoint()
    ));
    let wakes = Wakes {
        client: &client,
        session: &session,
        wait_ms: arguments.wait_ms,
        retry_after: workplace.retry_after,
    };
    loop {
        let taken = tokio::select! {
            biased;
            () = stop.requested() => break,
            taken = wakes.next() => taken?,
        };
        let outcome = turn::carry_out(&client, &taken, &workplace, &stop).await?;
        if outcome == Outcome::Over("superseded".to_owned()) {
            return Err(Failure::Superseded);
        }
        if arguments.once {
            return match outcome {
                Outcome::Ended => Ok(()),
                Outcome::Failed(reason) | Outcome::Over(reason) => Err(Failure::TurnFailed(reason)),
            };
        }
    }
    log::line(format_args!("stopped"));
    Ok(())
}

/// Where turns come from.
struct Wakes<'a> {
    client: &'a Client,
    session: &'a str,
    wait_ms: u64,
    retry_after: Duration,
}

impl Wakes<'_> {
    /// Waits for the next turn, however long that takes.
    async fn next(&self) -> Result<Turn, Failure> {
        let mut pause = Backoff::new(self.retry_after);
        let wait = Duration::from_millis(self.wait_ms);
        loop {
            let begun = Instant::now();
            let taken = until_answered(Backoff::new(self.retry_after), "wakes:take", || {
                self.client.take(self.session, self.wait_ms)
            })
            .await
            .map_err(explain)?;
            if let Some(turn) = taken {
                return Ok(turn);
            }
            // A server that answers without waiting must not be asked in a tight loop.
            if begun.elapsed() < wait.div_f64(2.0) {
                tokio::time::sleep(pause.delay()).await;
            } else {
                pause.reset();
            }
        }
    }
}

fn explain(refusal: Box<Refusal>) -> Failure {
    if refusal.is_of_credentials() {
        log::line(format_args!(
            "the server does not take this token for a resident's: check A2A_RESIDENT_TOKEN, and that its credential has the role `resident`"
        ));
    }
    refusal.into()
}

/// The command's PATH: this program's own folder, then what it was.
fn search_path() -> Result<std::ffi::OsString, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Broken(format!("this program's folder is unknown: {error}")))?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    Ok(command::path_beginning_with(folder))
}

/// Keeps the resident's token, which may be in this process's environment, from the processes of the same
/// user: the command could otherwise read it in `/proc`.
fn hide_environment() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        log::line(format_args!(
            "this process's memory stays readable: {error}"
        ));
    }
}
