//! Beginning a delivery: who may send now, and what must be found out first.

use protocol::error::{A2aError, Reason};
use protocol::trusted::delivery::{Begin, Recovery};
use serde::Serialize;

use super::answer;
use super::deliveries::{Delivery, HOLD_MS, State, delivery_id};
use crate::commands::JsonText;
use crate::error::CoreError;
use crate::principal::Principal;
use crate::storage::Store;

/// What the caller is to do.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Begun<'a> {
    delivery_id: &'a str,
    disposition: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_response_id: Option<&'a str>,
}

impl<S: Store> Principal<'_, S> {
    /// Begins a delivery, or says what stands in its way.
    ///
    /// # Errors
    /// `TASK_NOT_FOUND`; a source that is not the task's; `DELIVERY_CONFLICT` where the operation is bound to another
    /// payload.
    pub(super) fn begin_delivery(&mut self, begin: &Begin) -> Result<JsonText, CoreError> {
        self.check_source(&begin.task_id, &begin.source)?;
        let delivery_id = delivery_id(begin)?;
        let Some(mut delivery) = self.find_delivery(&delivery_id)? else {
            let delivery = Delivery {
                delivery_id,
                task_id: begin.task_id.clone(),
                source: begin.source.clone(),
                payload_digest: begin.payload_digest.clone(),
                recovery: begin.recovery,
                state: State::Sending,
                attempts: 1,
                attempt: self.new_attempt(begin),
                outcome: None,
                holder: begin.holder.clone(),
                held_until_ms: self.hold_until_ms(),
                provider_response_id: None,
            };
            self.insert_delivery(&delivery, begin)?;
            self.watch_over(&delivery);
            return go_on(&delivery, "SEND");
        };
        if delivery.payload_digest != begin.payload_digest {
            return Err(A2aError::new(
                Reason::DeliveryConflict,
                "this operation is bound to another payload",
            )
            .violating("payloadDigest", "must be that of the first delivery")
            .into());
        }
        match delivery.state {
            State::Delivered => answer(&Begun {
                delivery_id: &delivery.delivery_id,
                disposition: "DELIVERED",
                provider_response_id: delivery.provider_response_id.as_deref(),
                ..Begun::default()
            }),
            State::Ambiguous => given_up(&delivery),
            State::Failed => self.take_over(&mut delivery, begin, "SEND"),
            State::Sending => self.begin_unsettled(&mut delivery, begin),
        }
    }

    /// Somebody was told to send, and has not said how it went.
    fn begin_unsettled(
        &mut self,
        delivery: &mut Delivery,
        begin: &Begin,
    ) -> Result<JsonText, CoreError> {
        let left_ms = delivery
            .held_until_ms
            .saturating_sub(self.environment.now_ms);
        if left_ms > 0 {
            let is_same = begin.attempt.as_ref() == Some(&delivery.attempt);
            if is_same && delivery.outcome.is_none() {
                // Its answer was lost. One that may have followed another looks it up, which is never wrong.
                let follows = delivery.attempts > 1 && delivery.recovery == Recovery::Lookup;
                return go_on(delivery, if follows { "RECONCILE" } else { "SEND" });
            }
            return answer(&Begun {
                delivery_id: &delivery.delivery_id,
                disposition: "HELD",
                held_by: delivery.holder.as_deref(),
                retry_after_ms: Some(left_ms.min(HOLD_MS)),
                ..Begun::default()
            });
        }
        // What it was begun with decides, whatever the caller says now.
        match delivery.recovery {
            Recovery::Idempotent => self.take_over(delivery, begin, "SEND"),
            Recovery::Lookup if begin.can_reconcile => self.take_over(delivery, begin, "RECONCILE"),
            Recovery::Lookup => {
                self.ambiguous(delivery, "nobody can look up what a crash left in sending")?;
                given_up(delivery)
            }
            Recovery::Ambiguous => {
                self.ambiguous(delivery, "a crash left it in sending")?;
                given_up(delivery)
            }
        }
    }

    /// What nobody can look up is given up when its attempt falls silent, whoever asks.
    fn watch_over(&mut self, delivery: &Delivery) {
        if delivery.recovery == Recovery::Ambiguous {
            self.effects.wake_at(delivery.held_until_ms);
        }
    }

    fn new_attempt(&mut self, begin: &Begin) -> String {
        let named = begin.attempt.clone();
        named.unwrap_or_else(|| self.environment.ids.id())
    }

    fn take_over(
        &mut self,
        delivery: &mut Delivery,
        begin: &Begin,
        disposition: &'static str,
    ) -> Result<JsonText, CoreError> {
        delivery.state = State::Sending;
        delivery.attempt = self.new_attempt(begin);
        // Counted whatever it is called: a name that is used twice must not hide what may have been sent.
        delivery.attempts = delivery.attempts.saturating_add(1);
        delivery.outcome = None;
        delivery.holder.clone_from(&begin.holder);
        delivery.held_until_ms = self.hold_until_ms();
        self.store_delivery(delivery, None)?;
        self.watch_over(delivery);
        go_on(delivery, disposition)
    }
}

fn go_on(delivery: &Delivery, disposition: &'static str) -> Result<JsonText, CoreError> {
    answer(&Begun {
        delivery_id: &delivery.delivery_id,
        disposition,
        attempt: Some(&delivery.attempt),
        ..Begun::default()
    })
}

fn given_up(delivery: &Delivery) -> Result<JsonText, CoreError> {
    answer(&Begun {
        delivery_id: &delivery.delivery_id,
        disposition: "AMBIGUOUS",
        ..Begun::default()
    })
}
