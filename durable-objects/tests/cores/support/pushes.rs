//! Pushes, which lead out of this world: to a resident that hears them, or to one that is deaf.

use durable_objects::commands::principal::PrincipalCommand;
use durable_objects::wake_queue::DuePush;

use super::World;
use super::network::Awaiting;

impl World {
    pub(super) fn push(&mut self, resident: &str, due: DuePush) {
        match due {
            DuePush::Tell(push) => {
                let delivered = !self.is_deaf;
                let told = self.queue(resident, |queue| queue.pushed(&push, delivered));
                if told.is_ok() {
                    self.carry_on(resident);
                }
            }
            DuePush::Fail { principal, report } => {
                let awaiting = Awaiting::WakeFailed {
                    principal: principal.clone(),
                    activation_id: report.activation_id,
                };
                let command = PrincipalCommand::WakeFailed(report);
                self.call_principal(resident, &principal, command, awaiting);
            }
        }
    }
}
