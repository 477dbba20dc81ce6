//! Executors: they answer directly, make tasks of their own, ask, fall silent, and leave work to the resident.

use durable_objects::commands::principal::SendReply;
use serde_json::{Value as Json, json};

use super::Simulation;
use super::caller::Said;

#[derive(Debug, Clone, Copy)]
enum Deed {
    Work,
    Message,
    Settled,
    Begin,
}

#[derive(Debug, Clone, Copy)]
enum Further {
    Progress,
    Chunk,
    Ask,
    Complete,
    Nonsense,
    End,
    Fail,
}

impl Simulation {
    /// An executor decides what becomes of a message: the task's id, or the direct message's.
    pub(super) fn decides(&mut self, said: &Said) -> Result<String, super::Failure> {
        let deed = self.chance.weighted(&[
            (2, Deed::Work),
            (2, Deed::Message),
            (2, Deed::Settled),
            (4, Deed::Begin),
        ]);
        let parts = json!([{ "text": format!("step {}", self.step) }]);
        let line = match deed {
            Deed::Work => json!({ "work": {} }),
            Deed::Message => json!({ "message": { "parts": parts } }),
            Deed::Settled => json!({ "task": {
                "status": { "state": "TASK_STATE_COMPLETED" },
                "artifacts": [{ "artifactId": "a", "parts": parts }],
            }}),
            Deed::Begin => json!({ "task": { "status": { "state": "TASK_STATE_WORKING" } } }),
        };
        match self.world.execute(&said.principal, &said.send(), &line)? {
            SendReply::Task(task) => Ok(task.task_id),
            SendReply::Message(message) => {
                let message: Json = serde_json::from_str(message.get()).unwrap();
                Ok(message["messageId"].as_str().unwrap().to_owned())
            }
        }
    }

    pub(super) fn executor_acts(&mut self) {
        if self.world.executions.is_empty() {
            return;
        }
        let index = self.chance.below(self.world.executions.len());
        let execution = self.world.executions[index].clone();
        let further = self.chance.weighted(&[
            (6, Further::Progress),
            (8, Further::Chunk),
            (3, Further::Ask),
            (4, Further::Complete),
            (1, Further::Nonsense),
            (3, Further::End),
            (2, Further::Fail),
        ]);
        let status = |state: &str| json!({ "statusUpdate": { "status": { "state": state } } });
        let line = match further {
            Further::Progress => status("TASK_STATE_WORKING"),
            Further::Chunk => json!({ "artifactUpdate": {
                "artifact": { "artifactId": "c", "parts": [{ "text": format!("chunk {}", self.step) }] },
                "append": self.chance.percent(80),
                "lastChunk": false,
            }}),
            Further::Ask => status("TASK_STATE_INPUT_REQUIRED"),
            Further::Complete => status("TASK_STATE_COMPLETED"),
            Further::Nonsense => status("TASK_STATE_SUBMITTED"),
            Further::End | Further::Fail => {
                let failed = matches!(further, Further::Fail);
                let silent = self.world.falls_silent(&execution, failed);
                self.note(&format!("{execution:?} {further:?}: {silent:?}"));
                self.world.executions.remove(index);
                return;
            }
        };
        let more = self.world.says_more(&execution, &line);
        self.note(&format!("{execution:?} {further:?}: {more:?}"));
        if more != Ok(true) {
            self.world.executions.remove(index);
        }
    }
}
