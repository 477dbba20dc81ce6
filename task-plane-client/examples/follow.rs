//! A source in a page: events come in as lines of JSON on standard input, and answers go out as files of a folder.
//!
//! ```text
//! echo '{"id": "e-1", "conversation": "c-1", "text": "How many words is this?"}' |
//!   TASK_PLANE_URL=http://127.0.0.1:8787 TASK_PLANE_TOKEN=… \
//!     cargo run -p a2a-task-plane-client --example follow -- outbox
//! ```
//!
//! The folder, which must exist, is the provider. A file's name is the delivery's id, so that writing it twice makes one: it is idempotent. The
//! name is also the id of the response, so that an event with `replyTo` answers what the task asked.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::json;
use task_plane_client::{
    Activation, Begin, Continuation, Endpoint, Outcome, Part, Recovery, SendError, Settlement,
    TaskPlane, Token,
};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// The source's name.
const SOURCE: &str = "folder";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    id: String,
    conversation: String,
    text: String,
    reply_to: Option<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let outbox = PathBuf::from(std::env::args().nth(1).ok_or("usage: follow OUTBOX")?);
    let endpoint = Endpoint::parse(&std::env::var("TASK_PLANE_URL")?)?;
    let token = Token::new(std::env::var("TASK_PLANE_TOKEN")?)?;
    let plane = TaskPlane::new(endpoint, token, SOURCE)?;
    plane.declare(&[Continuation::ReplyAnchor]).await?;
    tokio::try_join!(take_events(&plane), carry_answers(&plane, &outbox))?;
    Ok(())
}

/// Hands over each line. What is printed has been accepted for good.
async fn take_events(plane: &TaskPlane) -> Result<(), Box<dyn Error>> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let event: Event = serde_json::from_str(&line)?;
        let mut activation =
            Activation::new(&event.id, SystemTime::now(), vec![Part::text(event.text)])
                .locator("event", &event.id)
                .conversation(&event.conversation);
        activation.reply_to = event.reply_to;
        let accepted = plane.accept(&activation).await?;
        println!("accepted {} {}", event.id, accepted.task_id);
    }
    Ok(())
}

/// Writes each answer, and each question, into the folder.
async fn carry_answers(plane: &TaskPlane, outbox: &Path) -> Result<(), Box<dyn Error>> {
    let mut settlements = plane.follow().await?.pause(Duration::from_millis(50));
    loop {
        for settlement in settlements.next_page().await? {
            let outcome = carry(plane, outbox, &settlement).await?;
            println!("{outcome:?}");
        }
        settlements.commit().await?;
    }
}

async fn carry(
    plane: &TaskPlane,
    outbox: &Path,
    settlement: &Settlement,
) -> Result<Outcome, Box<dyn Error>> {
    let task = plane.task(&settlement.task_id).await?;
    let answer = json!({"state": task.state(), "task": task.task});
    // Each settlement of a task is an operation of its own: a task may ask before it answers.
    let operation = format!("answer-{}", settlement.settlement_id);
    let begin = Begin::new(
        &settlement.task_id,
        &operation,
        &answer,
        Recovery::Idempotent,
    );
    let send = async |delivery_id: &str| {
        let path = outbox.join(delivery_id);
        match tokio::fs::write(&path, answer.to_string()).await {
            Ok(()) => Ok(Some(delivery_id.to_owned())),
            Err(error) => Err(SendError::Unknown(error.to_string())),
        }
    };
    Ok(plane.deliver(&begin, send).await?)
}
