//! Executors: what they say of a message, line by line, and what an object that dies leaves of it.

use durable_objects::commands::principal::{Send, SendReply};
use durable_objects::effects::Effects;
use durable_objects::environment::Environment;
use durable_objects::error::CoreError;
use durable_objects::principal::{self, Begun, Executed};
use durable_objects::storage::Transactional;
use durable_objects::storage::native::NativeStore;
use protocol::executor::Line;
use serde_json::Value as Json;

use super::{Failure, World, refused};

/// A task that an executor is at work on. It is known to its object's memory alone.
#[derive(Debug, Clone)]
pub struct Execution {
    pub principal: String,
    /// The object's life; another one knows nothing of it.
    pub life: u32,
    pub task_id: String,
    pub execution_id: String,
}

impl World {
    /// A message comes in, and the executor's first line is this.
    pub fn execute(
        &mut self,
        principal: &str,
        send: &Send,
        line: &Json,
    ) -> Result<SendReply, Failure> {
        let scope = self.scope(principal);
        let scope = (principal, scope.as_str());
        let begun = self.transaction(principal, |store, environment| {
            principal::begin_execution(store, environment, scope, send)
                .map(|begun| (begun, Effects::default()))
        })?;
        if let Begun::Answered(reply) = begun {
            return Ok(reply);
        }
        let line = parse(line);
        let executed = self.transaction(principal, |store, environment| {
            principal::execute(store, environment, scope, send, &line)
        })?;
        match executed {
            Executed::Over(reply) => Ok(reply),
            Executed::Begun {
                reply,
                task_id,
                execution_id,
            } => {
                self.executions.push(Execution {
                    principal: principal.to_owned(),
                    life: self.principals[principal].life,
                    task_id,
                    execution_id,
                });
                Ok(reply)
            }
        }
    }

    /// The executor says more. What an object has forgotten is said to nobody.
    pub fn says_more(&mut self, execution: &Execution, line: &Json) -> Result<bool, Failure> {
        if !self.knows(execution) {
            return Ok(false);
        }
        let scope = self.scope(&execution.principal);
        let line = parse(line);
        self.transaction(&execution.principal, |store, environment| {
            principal::continue_execution(
                store,
                environment,
                (&execution.principal, &scope),
                &execution.task_id,
                &execution.execution_id,
                &line,
            )
        })
    }

    /// The executor has nothing more to say, or failed.
    pub fn falls_silent(&mut self, execution: &Execution, failed: bool) -> Result<(), Failure> {
        if !self.knows(execution) {
            return Ok(());
        }
        let scope = self.scope(&execution.principal);
        self.transaction(&execution.principal, |store, environment| {
            principal::end_execution(
                store,
                environment,
                (&execution.principal, &scope),
                &execution.task_id,
                &execution.execution_id,
                failed,
            )
            .map(|effects| ((), effects))
        })
    }

    pub(super) fn fail_overdue_executions(&mut self, principal: &str) -> Result<(), Failure> {
        self.transaction(principal, |store, environment| {
            principal::fail_overdue_executions(store, environment).map(|effects| ((), effects))
        })
    }

    fn knows(&self, execution: &Execution) -> bool {
        self.principals[&execution.principal].life == execution.life
    }

    fn scope(&self, principal: &str) -> String {
        self.principals[principal].resident.clone()
    }

    fn transaction<T>(
        &mut self,
        principal: &str,
        work: impl FnOnce(&NativeStore, Environment<'_>) -> Result<(T, Effects), CoreError>,
    ) -> Result<T, Failure> {
        let (now_ms, ids) = (self.now_ms, &mut self.ids);
        let store = &self.principals[principal].store;
        let ran = store.transaction(|store| work(store, Environment { now_ms, ids }));
        let (answer, effects) = ran.map_err(refused)?;
        self.carry_out(principal, effects)?;
        Ok(answer)
    }
}

fn parse(line: &Json) -> Line {
    Line::parse(line.to_string().as_bytes()).expect("a line")
}
