//! Short forms of what clients and residents ask, for tests in which nothing is lost.

use durable_objects::commands::JsonText;
use durable_objects::commands::principal::{
    CancelTask, Disposition, GetTask, Output, PrincipalCommand, Send, SendReply, TaskReply, Tool,
    ToolReply, TurnOutcome, View,
};
use durable_objects::commands::wake_queue::{Turn, TurnAuthority};
use protocol::extensions::Activated;
use serde_json::{Value as Json, json};

use super::{Answer, Failure, World, decode};

/// The text of a JSON value, as it travels unread.
pub fn raw(json: &Json) -> JsonText {
    JsonText::from_text(json.to_string())
}

/// A message that begins new work. Its text is its digest.
pub fn message(message_id: &str, text: &str) -> Send {
    Send {
        message_id: message_id.to_owned(),
        digest: format!("digest of {text}"),
        message: raw(&json!({
            "messageId": message_id,
            "role": "ROLE_USER",
            "parts": [{ "text": text }],
        })),
        context_id: None,
        task_id: None,
        accepted_output_modes: Vec::new(),
        extensions: Activated::NONE,
        max_open_tasks: 10_000,
        max_watchers: None,
        view: View::default(),
    }
}

/// The same, as the answer that a task waits for.
pub fn answer_to(task_id: &str, message_id: &str, text: &str) -> Send {
    Send {
        task_id: Some(task_id.to_owned()),
        ..message(message_id, text)
    }
}

pub fn complete(text: &str) -> Tool {
    Tool::Complete {
        response: Some(raw(&json!([{ "text": text }]))),
        outputs: Vec::new(),
    }
}

pub fn reject(reason: &str) -> Tool {
    Tool::Reject {
        reason: reason.to_owned(),
    }
}

pub fn question(question: &str) -> Tool {
    Tool::RequireInput {
        question: question.to_owned(),
        requested_schema: None,
        auth: false,
    }
}

pub fn authorization(question: &str) -> Tool {
    Tool::RequireInput {
        question: question.to_owned(),
        requested_schema: None,
        auth: true,
    }
}

/// A chunk of the response.
pub fn chunk(text: &str, append: bool, last: bool) -> Tool {
    Tool::AppendResponse {
        parts: raw(&json!([{ "text": text }])),
        append,
        last,
    }
}

pub fn progress(note: &str) -> Tool {
    Tool::ReportProgress {
        note: note.to_owned(),
    }
}

pub fn output(name: &str, value: Json) -> Output {
    Output {
        name: name.to_owned(),
        kind: "document".to_owned(),
        value: raw(&value),
    }
}

/// The state's name in an A2A Task.
pub fn state(task: &Json) -> &str {
    task["status"]["state"].as_str().unwrap()
}

/// The message ids of a task's history.
pub fn history(task: &Json) -> Vec<&str> {
    task["history"].as_array().map_or_else(Vec::new, |history| {
        history
            .iter()
            .map(|message| message["messageId"].as_str().unwrap())
            .collect()
    })
}

impl World {
    /// Sends; the task that it became or belongs to.
    pub fn try_send(&mut self, principal: &str, send: Send) -> Result<Json, Failure> {
        let reply = self.command(principal, None, PrincipalCommand::Send(send))?;
        match decode::<SendReply>(&reply) {
            SendReply::Task(task) => Ok(serde_json::from_str(task.task.get()).unwrap()),
            SendReply::Message(message) => panic!("a direct message: {message:?}"),
        }
    }

    /// Sends a new message; its task.
    pub fn send(&mut self, principal: &str, message_id: &str) -> Json {
        self.try_send(principal, message(message_id, message_id))
            .unwrap()
    }

    /// The same, then everything in flight arrives; the task's id.
    pub fn submit(&mut self, principal: &str, message_id: &str) -> String {
        let task = self.send(principal, message_id);
        self.settle();
        task["id"].as_str().unwrap().to_owned()
    }

    pub fn try_get(&mut self, principal: &str, task_id: &str) -> Result<Json, Failure> {
        let command = GetTask {
            task_id: task_id.to_owned(),
            view: View::default(),
        };
        let reply = self.command(principal, None, PrincipalCommand::GetTask(command))?;
        let reply: TaskReply = decode(&reply);
        Ok(serde_json::from_str(reply.task.get()).unwrap())
    }

    pub fn get(&mut self, principal: &str, task_id: &str) -> Json {
        self.try_get(principal, task_id).unwrap()
    }

    pub fn state(&mut self, principal: &str, task_id: &str) -> String {
        state(&self.get(principal, task_id)).to_owned()
    }

    pub fn try_cancel(&mut self, principal: &str, task_id: &str) -> Result<Json, Failure> {
        let command = CancelTask {
            task_id: task_id.to_owned(),
            view: View::default(),
        };
        let reply = self.command(principal, None, PrincipalCommand::CancelTask(command))?;
        let reply: TaskReply = decode(&reply);
        Ok(serde_json::from_str(reply.task.get()).unwrap())
    }

    /// Takes a turn of the queue `resident` under that session.
    pub fn try_take(&mut self, session: &str) -> Result<Option<Turn>, Failure> {
        self.try_take_at("resident", session)
    }

    /// Takes a turn of that queue, if there is one.
    pub fn try_take_at(&mut self, resident: &str, session: &str) -> Result<Option<Turn>, Failure> {
        let ticket = self.begin_take(resident, session);
        self.settle();
        match self.take_answer(ticket).expect("an answer") {
            Answer::Turn(turn) => Ok(turn),
            Answer::Failed(failure) => Err(failure),
            other => panic!("not a turn: {other:?}"),
        }
    }

    /// The queue that handed a turn out.
    fn queue_of(&self, turn: &Turn) -> String {
        self.handed_out[&turn.turn_id].0.clone()
    }

    /// Takes a turn that is there, under the session `s1`.
    pub fn take(&mut self) -> Turn {
        self.try_take("s1").unwrap().expect("a turn")
    }

    pub fn try_end(&mut self, turn: &Turn, outcome: TurnOutcome) -> Result<Disposition, Failure> {
        let queue = self.queue_of(turn);
        let ticket = self.begin_end(&queue, &turn.turn_id, outcome);
        self.settle();
        match self.take_answer(ticket).expect("an answer") {
            Answer::Disposition(disposition) => Ok(disposition),
            Answer::Failed(failure) => Err(failure),
            other => panic!("not a disposition: {other:?}"),
        }
    }

    pub fn end(&mut self, turn: &Turn) -> Disposition {
        self.try_end(turn, TurnOutcome::Ended).unwrap()
    }

    pub fn fail(&mut self, turn: &Turn) -> Disposition {
        self.try_end(turn, TurnOutcome::Failed("exit 1".to_owned()))
            .unwrap()
    }

    pub fn try_tool(&mut self, turn: &Turn, tool: Tool) -> Result<ToolReply, Failure> {
        let authority = TurnAuthority::Token(turn.token.clone());
        let queue = self.queue_of(turn);
        let ticket = self.begin_tool(&queue, turn, authority, tool);
        self.settle();
        match self.take_answer(ticket).expect("an answer") {
            Answer::Tool(reply) => Ok(reply),
            Answer::Failed(failure) => Err(failure),
            other => panic!("not a tool's answer: {other:?}"),
        }
    }

    pub fn tool(&mut self, turn: &Turn, tool: Tool) -> ToolReply {
        self.try_tool(turn, tool).unwrap()
    }
}
