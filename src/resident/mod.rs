//! The resident surface: how the agent behind this endpoint takes turns and uses its tools, over HTTP+JSON.

mod body;
mod queue;
mod take;
mod tools;
mod turn;

pub use body::Body;
pub use take::wait;
pub use tools::{read_tool, tool};

use durable_objects::commands::wake_queue::TurnAuthority;
use protocol::error::A2aError;
use protocol::routes::{Operation, Params};

use crate::mcp;
use crate::reply::{self, Handled};
use crate::router::{Caller, Exchange, forbidden, identifier};
use crate::runtime::response;

/// Answers a request of the resident surface.
///
/// # Errors
/// What the contract refuses, in its shape.
pub async fn handle(
    exchange: &Exchange<'_>,
    operation: Operation,
    params: &Params<'_>,
    caller: &Caller,
) -> Handled {
    match operation {
        Operation::TakeWake => take::take(exchange, caller.resident()).await,
        Operation::WatchWakes => take::watch(exchange, caller.resident()).await,
        Operation::Mcp => mcp::handle(exchange, caller).await,
        Operation::InspectQueue => {
            let resident = identifier(params, "resident")?;
            queue::inspect(exchange, &resident).await
        }
        Operation::Heartbeat => {
            let turn_id = identifier(params, "turnId")?;
            turn::heartbeat(exchange, caller, &turn_id).await
        }
        Operation::EndTurn => {
            let turn_id = identifier(params, "turnId")?;
            turn::end(exchange, caller.resident(), &turn_id).await
        }
        Operation::CallTool => {
            let tool = params.get("tool").unwrap_or_default();
            tools::call(exchange, caller, &tool).await
        }
        _ => Err(forbidden()),
    }
}

impl Caller {
    /// The queue that the caller speaks to.
    pub fn resident(&self) -> &str {
        match self {
            Self::Credential(credential) => &credential.resident,
            Self::Turn { resident, .. } => resident,
        }
    }

    /// By what right the caller speaks for a turn. A turn's token is good for that turn alone, which is said before any
    /// queue is asked.
    fn authority(&self, turn_id: &str) -> Result<TurnAuthority, A2aError> {
        match self {
            Self::Credential(_) => Ok(TurnAuthority::Resident),
            Self::Turn {
                turn_id: own,
                token,
                ..
            } if own == turn_id => Ok(TurnAuthority::Token(token.clone())),
            Self::Turn { .. } => Err(A2aError::turn_not_live()),
        }
    }
}

/// An answer of this surface.
fn json(body: &str) -> Handled {
    Ok(reply::json(response::Body::Text(body.to_owned())))
}
