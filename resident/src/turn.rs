//! One turn: read the task, run the command with it, report how it ended.

use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use connection::{Refusal, quoted};

use crate::backoff::{Backoff, until_answered};
use crate::client::{Client, End, Turn};
use crate::command::{Command, describe};
use crate::error::Failure;
use crate::heartbeat::Heartbeat;
use crate::stop::Stop;
use crate::{log, prompt};

/// The namespace of session ids. It must never change: an agent finds its session of a task again by it.
const SESSION_NAMESPACE: Uuid = Uuid::from_u128(0x6f5c_7ac1_3a0e_4b52_9d5f_0b1f_61d2_8e47);

/// What every turn of a runner has in common.
#[derive(Debug)]
pub struct Workplace {
    /// The command, the program first.
    pub command: Vec<OsString>,
    /// The command's PATH, with this program's folder first.
    pub search_path: OsString,
    /// How long a command may take to stop before it is killed.
    pub kill_after: Duration,
    /// The first delay after a failed request.
    pub retry_after: Duration,
    /// Whether the command's tools may use http to another machine.
    pub insecure: bool,
}

/// How a turn ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command exited with 0.
    Ended,
    /// It did not, or could not be run, for this reason.
    Failed(String),
    /// The server ended the turn under it: `canceled`, `expired`, `superseded`, …
    Over(String),
}

impl Outcome {
    fn over(heard: Result<String, Box<Refusal>>) -> Self {
        match heard {
            Ok(reason) => Outcome::Over(reason),
            Err(refusal) if refusal.has_reason("TURN_NOT_LIVE") => Outcome::Over("over".to_owned()),
            Err(refusal) => Outcome::Failed(format!("the heartbeat was refused: {refusal}")),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Ended => formatter.write_str("ended"),
            Outcome::Failed(reason) => {
                write!(formatter, "failed reason=\"{}\"", quoted(reason))
            }
            Outcome::Over(reason) => formatter.write_str(&quoted(reason)),
        }
    }
}

/// The agent's session for a task: the same for every turn of the task, on every machine.
pub fn session_of(task_id: &str) -> Uuid {
    Uuid::new_v5(&SESSION_NAMESPACE, task_id.as_bytes())
}

/// Carries `turn` out and reports it, with its lease renewed until the report is answered. Writes the turn's
/// one log line.
///
/// # Errors
/// When the report is refused for another reason than that the turn is over: going on would be given the same
/// turn again.
pub async fn carry_out(
    client: &Client,
    turn: &Turn,
    workplace: &Workplace,
    stop: &Stop,
) -> Result<Outcome, Failure> {
    let begun = Instant::now();
    let mut heartbeat = Heartbeat::start(
        client.clone(),
        turn.turn_id.clone(),
        turn.lease_ms,
        workplace.retry_after,
    );
    let outcome = work(client, turn, workplace, stop, &mut heartbeat).await;
    let reported = report(client, turn, &outcome, workplace, stop).await;
    let disposition = match &reported {
        Ok(disposition) => disposition.as_str(),
        Err(_) => "refused",
    };
    log::line(format_args!(
        "turn={} task={} delivery={} outcome={outcome} disposition={} ms={}",
        turn.turn_id,
        turn.task_id,
        turn.delivery,
        quoted(disposition),
        begun.elapsed().as_millis()
    ));
    reported.map(|_| outcome)
}

async fn work(
    client: &Client,
    turn: &Turn,
    workplace: &Workplace,
    stop: &Stop,
    heartbeat: &mut Heartbeat,
) -> Outcome {
    let prompt = tokio::select! {
        prompt = prompt_of(client, turn, workplace.retry_after) => prompt,
        over = heartbeat.over() => return Outcome::over(over),
        () = stop.insisted() => return stopped(),
    };
    let prompt = match prompt {
        Ok(prompt) => prompt,
        Err(refusal) if refusal.has_reason("TURN_NOT_LIVE") => {
            return Outcome::Over("over".to_owned());
        }
        Err(refusal) => return Outcome::Failed(format!("the task could not be read: {refusal}")),
    };
    let started = Command::start(
        &workplace.command,
        &environment(client, turn, workplace),
        client.token().reveal(),
        prompt,
    );
    let mut command = match started {
        Ok(command) => command,
        Err(error) => return Outcome::Failed(format!("the command could not be started: {error}")),
    };
    let outcome = tokio::select! {
        status = command.wait() => match status {
            Ok(status) if status.success() => Outcome::Ended,
            Ok(status) => Outcome::Failed(describe(status)),
            Err(error) => Outcome::Failed(format!("the command could not be waited for: {error}")),
        },
        over = heartbeat.over() => Outcome::over(over),
        () = stop.insisted() => stopped(),
    };
    command
        .end(workplace.kill_after, hurried(&outcome, stop))
        .await;
    outcome
}

fn stopped() -> Outcome {
    Outcome::Failed("resident stopped".to_owned())
}

async fn prompt_of(
    client: &Client,
    turn: &Turn,
    retry_after: Duration,
) -> Result<String, Box<Refusal>> {
    // With the turn's own token: one that cannot read the task is found before the command needs it.
    let client = client.for_turn(turn);
    let text = until_answered(Backoff::new(retry_after), "a2a_read_task", || {
        client.read_text(&turn.turn_id, &turn.task_id)
    })
    .await?;
    Ok(prompt::of(turn, &text))
}

fn environment(
    client: &Client,
    turn: &Turn,
    workplace: &Workplace,
) -> Vec<(&'static str, OsString)> {
    let mut environment: Vec<(&'static str, OsString)> = vec![
        ("A2A_URL", client.endpoint().to_string().into()),
        ("A2A_TURN_TOKEN", turn.token.reveal().into()),
        ("A2A_TASK_ID", turn.task_id.clone().into()),
        ("A2A_TURN_ID", turn.turn_id.clone().into()),
        ("A2A_CONTEXT_ID", turn.context_id.clone().into()),
        (
            "A2A_SESSION_ID",
            session_of(&turn.task_id).to_string().into(),
        ),
        ("A2A_DELIVERY", turn.delivery.to_string().into()),
        ("PATH", workplace.search_path.clone()),
    ];
    if workplace.insecure {
        environment.push(("A2A_INSECURE", "1".into()));
    }
    environment
}

/// Reports the turn until that is answered, and gives the server's word for what becomes of it. Gives up when
/// a second signal insists: the lease then ends the turn.
async fn report(
    client: &Client,
    turn: &Turn,
    outcome: &Outcome,
    workplace: &Workplace,
    stop: &Stop,
) -> Result<String, Failure> {
    let end = match outcome {
        Outcome::Ended => End::Ended,
        Outcome::Failed(reason) => End::Failed(reason),
        // The server said so itself: there is nothing to report.
        Outcome::Over(_) => return Ok("over".to_owned()),
    };
    let answered = until_answered(Backoff::new(workplace.retry_after), "end", || {
        client.end(&turn.turn_id, end)
    });
    let answer = tokio::select! {
        answer = answered => answer,
        () = hurried(outcome, stop) => return Ok("unreported".to_owned()),
    };
    match answer {
        Err(refusal) if refusal.has_reason("TURN_NOT_LIVE") => Ok("over".to_owned()),
        answer => answer.map_err(Failure::from),
    }
}

/// Waits for the signal that ends patience with what still has to be done for a turn: the second, or the one
/// after those that stopped it.
async fn hurried(outcome: &Outcome, stop: &Stop) {
    if *outcome == stopped() {
        stop.again().await;
    } else {
        stop.insisted().await;
    }
}

#[cfg(test)]
mod tests {
    use super::session_of;

    #[test]
    fn the_session_is_derived_from_the_task_alone_and_never_changes() {
        assert_eq!(session_of("task-1"), session_of("task-1"));
        assert_ne!(session_of("task-1"), session_of("task-2"));
        assert_eq!(
            session_of("task-1").to_string(),
            "2524bfb1-df47-545f-904c-35fee746cd24"
        );
    }
}
