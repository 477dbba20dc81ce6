//! The tools for scripts. Everything about the turn comes from the environment; what the server says no
//! to is an exit code and a line that names the field.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::time::Instant;

use connection::{CallError, Endpoint, Token};

use crate::backoff::Backoff;
use crate::cli::{Append, Ask, Complete, Output, Progress, Read, Reject, Remote, Tool};
use crate::client::{Client, DeclaredOutput, ToolCall, is_identifier};
use crate::error::Failure;
use crate::task_view;

/// Text from stdin and the files of one response may be this long together, in bytes: the largest body that
/// the server takes.
const MAX_INPUT_BYTES: u64 = 1024 * 1024;
/// A server that cannot be reached is tried again for this long, unless A2A_KEEP_TRYING_MS says otherwise.
const KEEP_TRYING: Duration = Duration::from_secs(10);
/// The first delay between two attempts.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Runs one tool.
///
/// # Errors
/// [`Failure::Usage`] before anything is sent, [`Failure::Refused`] by the server, [`Failure::NoConnection`].
pub fn run(runtime: &Runtime, tool: Tool) -> Result<(), Failure> {
    let turn = TurnOfEnvironment::read()?;
    match tool {
        Tool::Read(view) => {
            let format = if view.json || view.text || view.question {
                "json"
            } else {
                "text"
            };
            let answer = runtime.block_on(turn.call(&ToolCall::Read { format }))?;
            print(&shown(&view, &answer)?)
        }
        Tool::Complete(complete) => {
            let call = completion(complete)?;
            runtime.block_on(turn.call(&call)).map(drop)
        }
        Tool::Reject(Reject { reason }) => {
            let call = ToolCall::Reject {
                outcome: "rejected",
                reason: text_argument("REASON", Some(reason))?,
            };
            runtime.block_on(turn.call(&call)).map(drop)
        }
        Tool::Output(Output { name, value }) => {
            let value = text_argument("JSON", Some(value))?;
            let call = ToolCall::Record(DeclaredOutput {
                value: object("JSON", value)?,
                output: name,
            });
            runtime.block_on(turn.call(&call)).map(drop)
        }
        Tool::Ask(ask) => {
            let call = question(ask)?;
            runtime.block_on(turn.call(&call)).map(drop)
        }
        Tool::Append(append) => {
            let call = chunk(append)?;
            runtime.block_on(turn.call(&call)).map(drop)
        }
        Tool::Remote(remote) => {
            let call = remote_call(remote)?;
            let answer = runtime.block_on(turn.call(&call))?;
            let text = serde_json::from_slice::<Value>(&answer)
                .ok()
                .and_then(|answer| answer.get("text")?.as_str().map(str::to_owned));
            print(&text.unwrap_or_else(|| String::from_utf8_lossy(&answer).into_owned()))
        }
        Tool::Progress(Progress { note }) => {
            let call = ToolCall::Progress {
                note: text_argument("NOTE", Some(note))?,
            };
            runtime.block_on(turn.call(&call)).map(drop)
        }
    }
}

/// The call of a tool that concerns other agents.
fn remote_call(remote: Remote) -> Result<ToolCall, Failure> {
    let (tool, arguments) = match remote {
        Remote::List => ("a2a_agents", json!({})),
        Remote::Send {
            address,
            context,
            text,
        } => {
            // A try that is repeated is the same message.
            let mut arguments = json!({
                "address": address,
                "text": text_argument("TEXT", text)?,
                "messageId": uuid::Uuid::new_v4().to_string(),
            });
            if let (Some(context), Some(arguments)) = (context, arguments.as_object_mut()) {
                arguments.insert("contextId".to_owned(), context.into());
            }
            ("a2a_send_agent", arguments)
        }
        Remote::Read { address, json } => {
            let format = if json { "json" } else { "text" };
            (
                "a2a_read_agent",
                json!({ "address": address, "format": format }),
            )
        }
        Remote::Cancel { address } => ("a2a_cancel_agent", json!({ "address": address })),
    };
    match arguments {
        Value::Object(arguments) => Ok(ToolCall::Remote { tool, arguments }),
        _ => Err(Failure::Broken("the arguments are no object".to_owned())),
    }
}

/// The turn that the environment names.
struct TurnOfEnvironment {
    client: Client,
    turn_id: String,
    task_id: String,
    keep_trying: Duration,
}

impl TurnOfEnvironment {
    fn read() -> Result<Self, Failure> {
        let insecure = std::env::var("A2A_INSECURE").is_ok_and(|value| value == "1");
        let endpoint = Endpoint::parse_with(&variable("A2A_URL")?, insecure)?;
        let token = Token::new(variable("A2A_TURN_TOKEN")?)
            .map_err(|wrong| Failure::Usage(format!("A2A_TURN_TOKEN: {wrong}")))?;
        Ok(TurnOfEnvironment {
            client: Client::new(endpoint, token)?,
            turn_id: identifier("A2A_TURN_ID")?,
            task_id: identifier("A2A_TASK_ID")?,
            keep_trying: keep_trying()?,
        })
    }

    /// Calls the tool. An attempt that the server cannot have seen is made again, and a read always is; another
    /// call is not, for it may have been carried out.
    async fn call(&self, call: &ToolCall) -> Result<Vec<u8>, Failure> {
        let begun = Instant::now();
        let mut backoff = Backoff::new(RETRY_AFTER);
        loop {
            let error = match self.client.call(&self.turn_id, &self.task_id, call).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let may_repeat = match (&error, call) {
                (CallError::Unreached(_), _) => true,
                (error, ToolCall::Read { .. }) => error.is_transient(),
                _ => false,
            };
            if !may_repeat || begun.elapsed() > self.keep_trying {
                return Err(error.into());
            }
            tokio::time::sleep(backoff.delay()).await;
        }
    }
}

fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.is_empty())
        .ok_or_else(|| {
            Failure::Usage(format!(
                "{name} is not set: this command works inside a turn, where `resident run` sets it"
            ))
        })
}

fn keep_trying() -> Result<Duration, Failure> {
    match std::env::var("A2A_KEEP_TRYING_MS") {
        Ok(value) => value.parse().map(Duration::from_millis).map_err(|_| {
            Failure::Usage("A2A_KEEP_TRYING_MS must be a number of milliseconds".to_owned())
        }),
        Err(_) => Ok(KEEP_TRYING),
    }
}

fn identifier(name: &str) -> Result<String, Failure> {
    let value = variable(name)?;
    if is_identifier(&value) {
        Ok(value)
    } else {
        Err(Failure::Usage(format!("{name} is not an identifier")))
    }
}

fn shown(view: &Read, answer: &[u8]) -> Result<String, Failure> {
    let unreadable = || {
        Failure::NoConnection(CallError::Unreadable(
            "the body is not the JSON of this contract",
        ))
    };
    let answer: Value = serde_json::from_slice(answer).map_err(|_| unreadable())?;
    if !(view.json || view.text || view.question) {
        let text = answer.get("text").and_then(Value::as_str);
        return text.map(str::to_owned).ok_or_else(unreadable);
    }
    let task = answer
        .get("task")
        .filter(|task| task.is_object())
        .ok_or_else(unreadable)?;
    Ok(if view.json {
        let request = answer.get("request").ok_or_else(unreadable)?;
        json!({ "task": task, "request": request }).to_string()
    } else if view.text {
        task_view::newest_text(task)
    } else {
        task_view::answered_question(task)
    })
}

fn completion(complete: Complete) -> Result<ToolCall, Failure> {
    let outputs = complete
        .outputs
        .into_iter()
        .map(|output| {
            let (name, value) = output.split_once('=').ok_or_else(|| {
                Failure::Usage(
                    "--output must be NAME=JSON, such as report={\"url\":\"…\"}".to_owned(),
                )
            })?;
            Ok(DeclaredOutput {
                output: name.to_owned(),
                value: object("--output", value.to_owned())?,
            })
        })
        .collect::<Result<_, Failure>>()?;
    let parts = complete
        .part_files
        .iter()
        .map(|path| part_of_file(path))
        .collect::<Result<_, Failure>>()?;
    Ok(ToolCall::Complete {
        response: if complete.appended {
            None
        } else {
            Some(text_argument("TEXT", complete.text)?)
        },
        parts,
        outputs,
    })
}

fn question(ask: Ask) -> Result<ToolCall, Failure> {
    Ok(ToolCall::Ask {
        question: text_argument("QUESTION", Some(ask.question))?,
        requested_schema: ask
            .schema
            .map(|schema| object("--schema", schema))
            .transpose()?,
        auth: ask.auth,
    })
}

/// A chunk keeps its line breaks and its spaces, those at its end too: the next one follows right behind.
fn chunk(append: Append) -> Result<ToolCall, Failure> {
    let text = given("TEXT", append.text)?;
    if text.is_empty() {
        return Err(Failure::Usage("TEXT is empty".to_owned()));
    }
    Ok(ToolCall::Append {
        text,
        append: !append.restart,
        last_chunk: append.last,
    })
}

/// The argument, or stdin for `-` and for an absent one. Line breaks at the end are dropped, as a shell's
/// `$(…)` drops them.
pub fn text_argument(name: &str, argument: Option<String>) -> Result<String, Failure> {
    let text = given(name, argument)?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.trim().is_empty() {
        return Err(Failure::Usage(format!("{name} is empty")));
    }
    Ok(text.to_owned())
}

/// The argument as it is, or stdin for `-` and for an absent one.
fn given(name: &str, argument: Option<String>) -> Result<String, Failure> {
    Ok(match argument {
        Some(text) if text != "-" => text,
        given => {
            let stdin = std::io::stdin();
            if given.is_none() && stdin.is_terminal() {
                return Err(Failure::Usage(format!(
                    "{name} is missing: give it as an argument, or on stdin"
                )));
            }
            bounded(name, stdin.lock())
                .and_then(|bytes| {
                    String::from_utf8(bytes).map_err(|_| format!("{name} on stdin is not UTF-8"))
                })
                .map_err(Failure::Usage)?
        }
    })
}

/// Reads at most [`MAX_INPUT_BYTES`].
fn bounded(name: &str, source: impl std::io::Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    source
        .take(MAX_INPUT_BYTES.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{name} cannot be read: {error}"))?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= MAX_INPUT_BYTES => Ok(bytes),
        _ => Err(format!("{name} is over 1 MiB")),
    }
}

/// A JSON object, kept as it was written: the server sees the same digits and keys.
fn object(name: &str, text: String) -> Result<Box<RawValue>, Failure> {
    let value = RawValue::from_string(text.trim().to_owned())
        .map_err(|error| Failure::Usage(format!("{name} is not JSON: {error}")))?;
    if value.get().starts_with('{') {
        Ok(value)
    } else {
        Err(Failure::Usage(format!("{name} must be a JSON object")))
    }
}

/// An A2A Part with the file's bytes, its name and the media type that the name's ending stands for.
fn part_of_file(path: &Path) -> Result<Value, Failure> {
    let shown = path.display().to_string();
    let bytes = std::fs::File::open(path)
        .map_err(|error| format!("--part-file {shown} cannot be read: {error}"))
        .and_then(|file| bounded(&format!("--part-file {shown}"), file))
        .map_err(Failure::Usage)?;
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    let mut part = json!({
        "raw": STANDARD.encode(bytes),
        "mediaType": media_type(&ending),
    });
    if let (Some(part), Some(name)) = (part.as_object_mut(), path.file_name()) {
        part.insert("filename".to_owned(), name.to_string_lossy().into());
    }
    Ok(part)
}

fn media_type(ending: &str) -> &'static str {
    match ending {
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "html" | "htm" => "text/html",
        "csv" => "text/csv",
        "diff" | "patch" => "text/x-diff",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        _ => "application/octet-stream",
    }
}

/// Prints `text` and a line break, or nothing. A reader that has gone, such as `head`, is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| {
            if text.is_empty() || text.ends_with('\n') {
                Ok(())
            } else {
                stdout.write_all(b"\n")
            }
        })
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::Broken(
            format!("stdout cannot be written: {error}"),
        )),
        _ => Ok(()),
    }
}
