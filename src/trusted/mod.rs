//! The trusted surface: native sources and platforms hand over events, keep checkpoints and serialize deliveries, over
//! HTTP+JSON.
//!
//! One request is one call to the principal's object, which answers with the body.

mod evidence;

use durable_objects::commands::trusted::TrustedCommand;
use protocol::credentials::{Credential, Role};
use protocol::error::A2aError;
use protocol::http::check_content_type;
use protocol::json;
use protocol::routes::{Operation, Params};
use protocol::trusted::activation::Activation;
use protocol::trusted::checkpoint::Checkpoint;
use protocol::trusted::delivery::{Begin, Reconcile, Settle};
use protocol::trusted::evidence::SourceEvidence;
use protocol::trusted::settlements::SettlementsQuery;
use protocol::trusted::source::{Anchor, Declaration, Locate};
use protocol::trusted::{Caller, check_source};
use serde_json::Value;

use crate::reply::{self, Handled};
use crate::router::{Exchange, forbidden, identifier};
use crate::runtime::clock;
use crate::runtime::response::Body;

/// Answers a request of a source or of a platform, or an operator's about what they brought.
///
/// # Errors
/// What the contract refuses, in its shape.
pub async fn handle(
    exchange: &Exchange<'_>,
    operation: Operation,
    params: &Params<'_>,
    credential: &Credential,
) -> Handled {
    let body = match operation {
        Operation::ReadSource
        | Operation::ReadNativeTask
        | Operation::ListSettlements
        | Operation::ListEvidence => Value::Null,
        _ => body(exchange).await?,
    };
    let (principal, resident, command) = match operation {
        Operation::ListEvidence => evidence::asked(exchange)?,
        _ => {
            let Some(principal) = &credential.principal else {
                return Err(forbidden());
            };
            let caller = Caller {
                principal,
                may_name_tasks: credential.role == Role::Trusted,
            };
            let command = asked(exchange, operation, params, body, &caller)?;
            (principal.clone(), credential.resident.as_str(), command)
        }
    };
    let answer = exchange
        .objects
        .principal_text(&principal, resident, command)
        .await??;
    Ok(reply::json(Body::Passed(answer)))
}

/// What the principal's object is asked.
fn asked(
    exchange: &Exchange<'_>,
    operation: Operation,
    params: &Params<'_>,
    body: Value,
    caller: &Caller<'_>,
) -> Result<TrustedCommand, A2aError> {
    let id = |name| identifier(params, name);
    let source = || check_source("source", id("source")?);
    Ok(match operation {
        Operation::AcceptActivation => TrustedCommand::Accept {
            activation: Activation::from_value(body, caller, clock::now_ms())?,
            max_open_tasks: exchange.config.max_open_tasks,
        },
        Operation::DeclareSource => {
            TrustedCommand::Declare(Declaration::from_value(body, source()?, caller)?)
        }
        Operation::ReadSource => TrustedCommand::ReadSource { source: source()? },
        Operation::AdvanceCheckpoint => {
            TrustedCommand::Advance(Checkpoint::from_value(body, source()?, caller)?)
        }
        Operation::ResolveLocator => TrustedCommand::Locate(Locate::from_value(body, caller)?),
        Operation::ReadNativeTask => TrustedCommand::ReadTask {
            task_id: id("id")?,
            any_source: caller.may_name_tasks,
        },
        Operation::RecordAnchor => TrustedCommand::RecordAnchor(Anchor::from_value(body, caller)?),
        Operation::BeginDelivery => TrustedCommand::Begin(Begin::from_value(body, caller)?),
        Operation::SettleDelivery => {
            TrustedCommand::Settle(Settle::from_value(body, id("deliveryId")?, caller)?)
        }
        Operation::ReconcileDelivery => {
            TrustedCommand::Reconcile(Reconcile::from_value(body, id("deliveryId")?, caller)?)
        }
        Operation::ListSettlements => {
            let query = SettlementsQuery::parse(exchange.query())?;
            TrustedCommand::Settlements {
                source: query.source,
                after: query.after,
                page_size: query.page_size,
            }
        }
        Operation::RecordEvidence => {
            TrustedCommand::RecordEvidence(SourceEvidence::from_value(body, caller)?)
        }
        // The table has no other route for sources.
        _ => return Err(A2aError::internal()),
    })
}

async fn body(exchange: &Exchange<'_>) -> Result<Value, A2aError> {
    let body = exchange.body().await?;
    check_content_type(
        exchange.request.header("content-type").as_deref(),
        body.is_empty(),
    )?;
    json::parse(&body)
}
