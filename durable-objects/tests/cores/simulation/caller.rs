//! Clients: they move, send, repeat, contradict themselves, answer, cancel and watch, and often do not hear the answer.

use durable_objects::commands::principal::Send;

use super::Simulation;
use crate::support::ask::{answer_to, message};

/// What a client has said once and may say again.
#[derive(Debug, Clone)]
pub struct Said {
    pub principal: String,
    message_id: String,
    task_id: Option<String>,
    /// An executor is asked about it first.
    by_executor: bool,
}

impl Said {
    pub fn send(&self) -> Send {
        match &self.task_id {
            Some(task_id) => answer_to(task_id, &self.message_id, &self.message_id),
            None => message(&self.message_id, &self.message_id),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    New,
    Again,
    Contradict,
    Answer,
    Cancel,
    Watch,
    Burst,
    Move,
}

impl Simulation {
    pub(super) fn caller_acts(&mut self) -> Result<(), String> {
        let deed = self.chance.weighted(&[
            (200, Deed::New),
            (80, Deed::Again),
            (20, Deed::Contradict),
            (160, Deed::Answer),
            (30, Deed::Cancel),
            (60, Deed::Watch),
            (1, Deed::Burst),
            (12, Deed::Move),
        ]);
        match deed {
            Deed::New => {
                let said = self.says_new();
                self.says(&said)
            }
            Deed::Burst => {
                self.note("a burst of 150 messages");
                for _ in 0..150 {
                    let said = self.says_new();
                    self.says(&said)?;
                }
                Ok(())
            }
            Deed::Move => {
                // Its credential names another resident from now on; whoever took a session before does not know.
                let names: Vec<_> = self.world.names().into_iter().collect();
                let principal = self.chance.pick(&names).expect("a principal").clone();
                let queues: Vec<_> = self.world.queues.keys().cloned().collect();
                let resident = self.chance.pick(&queues).expect("a queue").clone();
                self.note(&format!("{principal} moves to {resident}"));
                let object = self.world.principals.get_mut(&principal);
                object.expect("a principal").resident = resident;
                Ok(())
            }
            Deed::Again => match self.chance.pick(&self.said).cloned() {
                Some(said) => self.says(&said),
                None => Ok(()),
            },
            Deed::Contradict => self.contradicts(),
            Deed::Answer => match self.some_task() {
                Some((principal, task_id)) => {
                    let said = Said {
                        principal,
                        message_id: self.fresh_message_id(),
                        task_id: Some(task_id),
                        by_executor: self.chance.percent(20),
                    };
                    self.says(&said)
                }
                None => Ok(()),
            },
            Deed::Cancel => {
                if let Some((principal, task_id)) = self.some_task() {
                    let canceled = self.world.try_cancel(&principal, &task_id).is_ok();
                    self.note(&format!("{principal} cancels {task_id}: {canceled}"));
                }
                Ok(())
            }
            Deed::Watch => {
                if let Some((principal, task_id)) = self.some_task() {
                    let watches = self.world.watch(&principal, &task_id).is_ok();
                    self.note(&format!("{principal} watches {task_id}: {watches}"));
                }
                Ok(())
            }
        }
    }

    fn some_task(&mut self) -> Option<(String, String)> {
        let tasks: Vec<_> = self
            .invariants
            .acknowledged
            .iter()
            .map(|((principal, _), task_id)| (principal.clone(), task_id.clone()))
            .collect();
        self.chance.pick(&tasks).cloned()
    }

    fn fresh_message_id(&mut self) -> String {
        self.messages += 1;
        format!("m{}", self.messages)
    }

    fn says_new(&mut self) -> Said {
        let names: Vec<_> = self.world.names().into_iter().collect();
        Said {
            principal: self.chance.pick(&names).expect("a principal").clone(),
            message_id: self.fresh_message_id(),
            task_id: None,
            by_executor: self.chance.percent(15),
        }
    }

    fn says(&mut self, said: &Said) -> Result<(), String> {
        let answer = if said.by_executor {
            self.decides(said)
        } else {
            let task = self.world.try_send(&said.principal, said.send());
            task.map(|task| task["id"].as_str().unwrap().to_owned())
        };
        let text = match &answer {
            Ok(outcome) => outcome.clone(),
            Err(failure) => failure.reason().to_owned(),
        };
        let (principal, message_id) = (said.principal.clone(), said.message_id.clone());
        self.note(&format!(
            "{principal} says {message_id} to {:?}: {text}",
            said.task_id
        ));
        let key = (principal, message_id);
        let before = self.invariants.acknowledged.get(&key).cloned();
        match answer {
            Ok(outcome) => {
                if before.as_ref().is_some_and(|before| *before != outcome) {
                    return Err(format!("2: {key:?} was {before:?} and is {outcome}"));
                }
                // Now and then the answer gets lost: whoever sent it knows nothing.
                if before.is_none() && !self.chance.percent(20) {
                    self.invariants.acknowledged.insert(key, outcome);
                }
            }
            Err(failure) if before.is_some() && failure.reason() != "LOST" => {
                return Err(format!("2: {key:?} was {before:?} and is now {failure:?}"));
            }
            Err(_) => {}
        }
        self.said.push(said.clone());
        Ok(())
    }

    fn contradicts(&mut self) -> Result<(), String> {
        let acknowledged: Vec<_> = self.invariants.acknowledged.keys().cloned().collect();
        let Some((principal, message_id)) = self.chance.pick(&acknowledged) else {
            return Ok(());
        };
        let other = message(message_id, "something else");
        match self.world.try_send(principal, other) {
            Err(failure) if failure.reason() == "DUPLICATE_MESSAGE_ID" => Ok(()),
            other => Err(format!(
                "2: {principal} contradicts {message_id} and is answered {other:?}"
            )),
        }
    }
}
