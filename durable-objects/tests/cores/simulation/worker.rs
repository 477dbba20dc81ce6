//! Residents: they work, ask, fail, stall, crash, come back, and speak of turns that are long over.

use durable_objects::commands::principal::{Tool, TurnOutcome};
use durable_objects::commands::wake_queue::{Turn, TurnAuthority};
use serde_json::json;

use super::Simulation;
use crate::support::ask::{authorization, chunk, complete, output, progress, question, reject};
use crate::support::{Answer, Ticket};

#[derive(Debug)]
pub struct Resident {
    queue: String,
    /// Counts its starts.
    starts: u32,
    turn: Option<Turn>,
    over: Vec<Turn>,
    takes: Vec<(Ticket, u32)>,
    /// The step until which it does nothing, and hears nothing that is pushed.
    asleep_until: u32,
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    Complete,
    Reject,
    Ask,
    AskAuthorization,
    Record,
    Progress,
    Append,
    CompleteAppended,
    Heartbeat,
    End,
    Fail,
    Stall,
    Crash,
    TakeAgain,
    SpeakOfTheOver,
    TakeAsBefore,
}

impl Resident {
    pub fn new(queue: &str) -> Self {
        Self {
            queue: queue.to_owned(),
            starts: 1,
            turn: None,
            over: Vec::new(),
            takes: Vec::new(),
            asleep_until: 0,
        }
    }

    pub fn sleeps(&self, step: u32) -> bool {
        step < self.asleep_until
    }

    fn session(&self) -> String {
        format!("{}-session-{}", self.queue, self.starts)
    }
}

impl Simulation {
    pub(super) fn resident_acts(&mut self) -> Result<(), String> {
        let index = self.chance.below(self.residents.len());
        if self.residents[index].sleeps(self.step) {
            return Ok(());
        }
        self.hear(index);
        let deed = match self.residents[index].turn {
            Some(_) => self.chance.weighted(&[
                (20, Deed::Complete),
                (5, Deed::Reject),
                (14, Deed::Ask),
                (4, Deed::AskAuthorization),
                (10, Deed::Record),
                (5, Deed::Progress),
                (14, Deed::Append),
                (5, Deed::CompleteAppended),
                (8, Deed::Heartbeat),
                (24, Deed::End),
                (12, Deed::Fail),
                (12, Deed::Stall),
                (4, Deed::Crash),
                (4, Deed::TakeAgain),
                (8, Deed::SpeakOfTheOver),
                (2, Deed::TakeAsBefore),
            ]),
            None => self.chance.weighted(&[
                (80, Deed::TakeAgain),
                (4, Deed::Crash),
                (8, Deed::SpeakOfTheOver),
                (2, Deed::TakeAsBefore),
            ]),
        };
        self.note(&format!("{} does {deed:?}", self.residents[index].queue));
        self.does(index, deed)
    }

    pub(super) fn falls_asleep(&mut self) {
        let index = self.chance.below(self.residents.len());
        let until = self.step + 5 + u32::try_from(self.chance.below(30)).unwrap();
        self.residents[index].asleep_until = until;
        let queue = self.residents[index].queue.clone();
        self.note(&format!("{queue} sleeps until step {until}"));
    }

    /// Picks up the answers to its takes. One that comes to an earlier life of the resident is a turn it forgot.
    fn hear(&mut self, index: usize) {
        let resident = &mut self.residents[index];
        for (ticket, start) in std::mem::take(&mut resident.takes) {
            match self.world.take_answer(ticket) {
                Some(Answer::Turn(Some(turn))) if start == resident.starts => {
                    resident.over.extend(resident.turn.replace(turn));
                }
                Some(Answer::Turn(Some(turn))) => resident.over.push(turn),
                Some(_) => {}
                None => resident.takes.push((ticket, start)),
            }
        }
    }

    fn does(&mut self, index: usize, deed: Deed) -> Result<(), String> {
        let queue = self.residents[index].queue.clone();
        let turn = self.residents[index].turn.clone();
        match (deed, turn) {
            (Deed::TakeAgain, _) => self.take(index),
            (Deed::TakeAsBefore, _) => self.take_as_before(index)?,
            (Deed::Crash, turn) => {
                let resident = &mut self.residents[index];
                resident.over.extend(turn);
                resident.turn = None;
                resident.starts += 1;
            }
            (Deed::SpeakOfTheOver, _) => {
                if let Some(turn) = self.chance.pick(&self.residents[index].over).cloned() {
                    if self.chance.percent(50) {
                        self.uses(&queue, &turn, complete("of a turn that is over"));
                    } else {
                        self.world
                            .begin_end(&queue, &turn.turn_id, TurnOutcome::Ended);
                    }
                }
            }
            (Deed::Complete, Some(turn)) => self.uses(&queue, &turn, complete("done")),
            (Deed::Reject, Some(turn)) => self.uses(&queue, &turn, reject("not mine")),
            (Deed::Ask, Some(turn)) => self.uses(&queue, &turn, question("which?")),
            (Deed::AskAuthorization, Some(turn)) => {
                self.uses(&queue, &turn, authorization("may I?"));
            }
            (Deed::Record, Some(turn)) => {
                let value = json!({ "step": self.step });
                self.uses(&queue, &turn, Tool::RecordOutput(output("report", value)));
            }
            (Deed::Progress, Some(turn)) => self.uses(&queue, &turn, progress("on the way")),
            (Deed::Append, Some(turn)) => {
                // Now and then so long that it takes a row of its own.
                let text = if self.chance.percent(10) {
                    "long ".repeat(60_000)
                } else {
                    format!("chunk {}", self.step)
                };
                let (append, last) = (self.chance.percent(85), self.chance.percent(10));
                self.uses(&queue, &turn, chunk(&text, append, last));
            }
            (Deed::CompleteAppended, Some(turn)) => {
                let tool = Tool::Complete {
                    response: None,
                    outputs: Vec::new(),
                };
                self.uses(&queue, &turn, tool);
            }
            (Deed::Heartbeat, Some(turn)) => {
                let authority = TurnAuthority::Token(turn.token.clone());
                drop(self.world.heartbeat(&queue, &turn.turn_id, authority));
            }
            (Deed::End | Deed::Fail, Some(turn)) => {
                let outcome = match deed {
                    Deed::Fail => TurnOutcome::Failed("exit 1".to_owned()),
                    _ => TurnOutcome::Ended,
                };
                self.world.begin_end(&queue, &turn.turn_id, outcome);
                let resident = &mut self.residents[index];
                resident.turn = None;
                resident.over.push(turn);
            }
            _ => {}
        }
        Ok(())
    }

    fn take(&mut self, index: usize) {
        let resident = &mut self.residents[index];
        let session = resident.session();
        let ticket = self.world.begin_take(&resident.queue, &session);
        resident.takes.push((ticket, resident.starts));
    }

    /// A process of an earlier start is still there, and asks for work.
    fn take_as_before(&mut self, index: usize) -> Result<(), String> {
        let resident = &self.residents[index];
        let (queue, newest) = (resident.queue.clone(), resident.session());
        let used = crate::support::peek::texts(
            &self.world.queues[&queue].store,
            "SELECT session FROM sessions WHERE session <> ?1",
            &[(&newest).into()],
        );
        let newest_entered = crate::support::peek::integer(
            &self.world.queues[&queue].store,
            "SELECT count(*) FROM sessions WHERE session = ?1",
            &[(&newest).into()],
        );
        let Some(old) = self.chance.pick(&used).filter(|_| newest_entered == 1) else {
            return Ok(());
        };
        let ticket = self.world.begin_take(&queue, old);
        match self.world.take_answer(ticket) {
            Some(Answer::Failed(_)) => Ok(()),
            other => Err(format!("4: {old} was superseded, and is given {other:?}")),
        }
    }

    fn uses(&mut self, queue: &str, turn: &Turn, tool: Tool) {
        let authority = if self.chance.percent(80) {
            TurnAuthority::Token(turn.token.clone())
        } else {
            TurnAuthority::Resident
        };
        self.world.begin_tool(queue, turn, authority, tool);
    }

    /// The resident works through everything it is offered, under its session; with `anew`, after a restart.
    pub(super) fn works_off(&mut self, index: usize, anew: bool) -> Result<(), String> {
        if anew {
            self.does(index, Deed::Crash)?;
        }
        let queue = self.residents[index].queue.clone();
        for _ in 0..5_000 {
            self.take(index);
            self.world.settle();
            self.residents[index].turn = None;
            self.hear(index);
            let Some(turn) = self.residents[index].turn.clone() else {
                return Ok(());
            };
            self.world.begin_tool(
                &queue,
                &turn,
                TurnAuthority::Resident,
                complete("done after all"),
            );
            self.world.settle();
            self.world
                .begin_end(&queue, &turn.turn_id, TurnOutcome::Ended);
            self.world.settle();
            self.check()?;
        }
        Err(format!("1: the work of {queue} never ends"))
    }
}
