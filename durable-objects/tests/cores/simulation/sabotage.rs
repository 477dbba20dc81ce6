//! Breaking an invariant on purpose, behind the cores' backs: what the simulation must see.

use durable_objects::commands;
use durable_objects::commands::principal::{PrincipalCommand, Tool};
use durable_objects::storage::Store;
use durable_objects::storage::native::NativeStore;

use crate::support::World;
use crate::support::network::Message;
use crate::support::peek::texts;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// Every notice is lost, and its outbox row with it.
    LoseWakes,
    /// What was acknowledged is not found by its key any more.
    ForgetKeys,
    /// A message stands twice in a history.
    RepeatHistory,
    /// A completed task is worked on again.
    ReviveTerminal,
    /// A status is older than it was.
    TurnBackTime,
    /// A turn that is over has authority over its task, beside the one that is live.
    ShareAuthority,
    /// A tool acts though its queue knows no turn.
    ForgetTurn,
    /// An activation was delivered a sixth time.
    DeliverOften,
    /// More wakes wait than may.
    Overfill,
    /// A watcher misses a frame.
    LoseFrames,
    /// What is stored of an artifact is not what its chunks were.
    GarbleArtifact,
    /// A principal believes that another resident serves it, and that one knows nothing of it.
    HidePrincipal,
    /// Nobody remembers that an executor is at work.
    ForgetExecutions,
}

impl Sabotage {
    pub const ALL: [Self; 13] = [
        Self::LoseWakes,
        Self::ForgetKeys,
        Self::RepeatHistory,
        Self::ReviveTerminal,
        Self::TurnBackTime,
        Self::ShareAuthority,
        Self::ForgetTurn,
        Self::DeliverOften,
        Self::Overfill,
        Self::LoseFrames,
        Self::GarbleArtifact,
        Self::HidePrincipal,
        Self::ForgetExecutions,
    ];

    /// The numbers of the invariants it may be seen to break.
    pub fn breaks(self) -> &'static [char] {
        match self {
            Self::LoseWakes | Self::HidePrincipal | Self::ForgetExecutions => &['1'],
            // A caller that tries again before anyone looks gets a second task.
            Self::ForgetKeys => &['1', '2'],
            Self::RepeatHistory => &['2'],
            Self::ReviveTerminal | Self::TurnBackTime => &['3'],
            Self::ShareAuthority => &['4'],
            // Where the tool was refused all the same, the end of the turn is never told.
            Self::ForgetTurn => &['4', '1'],
            Self::DeliverOften | Self::Overfill => &['5'],
            Self::LoseFrames | Self::GarbleArtifact => &['6'],
        }
    }

    /// Whether it is done at every step, and not once.
    pub fn goes_on(self) -> bool {
        matches!(
            self,
            Self::LoseWakes
                | Self::ForgetTurn
                | Self::LoseFrames
                | Self::HidePrincipal
                | Self::ForgetExecutions
        )
    }

    /// Does it, if there is something to do it to.
    pub fn strike(self, world: &mut World) -> bool {
        match self {
            Self::LoseWakes => {
                world.loses_notices = true;
                world.lost_notices > 0
            }
            Self::ForgetKeys => changes_any(
                world,
                "UPDATE claims SET dedupe_key = dedupe_key || 'x' WHERE (SELECT count(*) FROM claims) > 4 RETURNING 'x'",
            ),
            Self::RepeatHistory => {
                let repeated = changes_any(
                    world,
                    "INSERT INTO messages (task_id, ordinal, message) SELECT tasks.task_id, next_ordinal, message \
                     FROM tasks JOIN messages ON messages.task_id = tasks.task_id LIMIT 1 RETURNING 'x'",
                );
                changes_any(
                    world,
                    "UPDATE tasks SET next_ordinal = next_ordinal + 1 WHERE next_ordinal = \
                     (SELECT max(ordinal) FROM messages WHERE messages.task_id = tasks.task_id) RETURNING 'x'",
                );
                repeated
            }
            Self::ReviveTerminal => changes_any(
                world,
                "UPDATE tasks SET state = 2 WHERE state = 3 RETURNING 'x'",
            ),
            Self::TurnBackTime => changes_any(
                world,
                "UPDATE tasks SET status_ms = status_ms - 1 RETURNING 'x'",
            ),
            Self::ShareAuthority => share_authority(world),
            Self::ForgetTurn => {
                let tool = world.in_flight.iter().position(
                    |message| matches!(message, Message::Request { body, .. } if is_complete(body)),
                );
                if let Some(tool) = tool {
                    for queue in world.queues.values() {
                        changes(&queue.store, "DELETE FROM turn RETURNING 'x'");
                    }
                    world.deliver(tool);
                }
                !world.strays.is_empty()
            }
            Self::DeliverOften => changes_any(
                world,
                "UPDATE claims SET deliveries = 6 WHERE deliveries > 0 RETURNING 'x'",
            ),
            Self::Overfill => {
                let queue = world.queues.values().next().expect("a queue");
                changes(
                    &queue.store,
                    "WITH RECURSIVE more (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 130) \
                     INSERT INTO wakes (principal, activation_id, task_id) \
                     SELECT 'nobody', n, 'none' FROM more RETURNING 'x'",
                )
            }
            Self::LoseFrames => {
                world.loses_frames = true;
                world.lost_frames > 0
            }
            Self::GarbleArtifact => world.principals.values().any(|object| {
                object.watchers.iter().any(|watcher| {
                    !object
                        .store
                        .query(
                            "UPDATE artifacts SET artifact = replace(artifact, '\"text\":\"', '\"text\":\"!') \
                             WHERE task_id = ?1 AND artifact LIKE '%\"text\":\"%' RETURNING 'x'",
                            &[(&watcher.task_id).into()],
                        )
                        .unwrap()
                        .is_empty()
                })
            }),
            Self::HidePrincipal => changes_each(
                world,
                "UPDATE task_counts SET resident = 'nobody' WHERE state_1 + state_2 > 0 RETURNING 'x'",
            ),
            Self::ForgetExecutions => {
                world.executions.clear();
                changes_each(world, "DELETE FROM executions RETURNING 'x'")
            }
        }
    }
}

fn changes(store: &NativeStore, sql: &str) -> bool {
    !store.query(sql, &[]).unwrap().is_empty()
}

fn changes_any(world: &World, sql: &str) -> bool {
    world
        .principals
        .values()
        .any(|object| changes(&object.store, sql))
}

/// The same for all of them.
fn changes_each(world: &World, sql: &str) -> bool {
    let changed = world
        .principals
        .values()
        .filter(|object| changes(&object.store, sql));
    changed.count() > 0
}

fn share_authority(world: &World) -> bool {
    for (turn_id, (resident, task_id)) in &world.handed_out {
        let live = world.queues[resident].turn();
        let Some((live_turn, live_task)) = live else {
            continue;
        };
        if live_turn == *turn_id || live_task == *task_id {
            continue;
        }
        let in_authority = world.principals.values().any(|object| {
            texts(
                &object.store,
                "SELECT task_id FROM tasks WHERE turn_id = ?1",
                &[(&live_turn).into()],
            )
            .contains(&live_task)
        });
        let handed = world.handed_out.contains_key(&live_turn);
        if in_authority && handed {
            return world.principals.values().any(|object| {
                !object
                    .store
                    .query(
                        "UPDATE tasks SET turn_id = ?1 WHERE task_id = ?2 RETURNING 'x'",
                        &[turn_id.into(), task_id.into()],
                    )
                    .unwrap()
                    .is_empty()
            });
        }
    }
    false
}

/// Whether a call to a principal completes a task.
fn is_complete(body: &[u8]) -> bool {
    match commands::decode(body) {
        Ok(PrincipalCommand::UseTool(used)) => matches!(used.tool, Tool::Complete { .. }),
        _ => false,
    }
}
