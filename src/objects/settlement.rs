//! Telling a source that a task of its own was settled, by the service binding that this deployment has for it.

use durable_objects::effects::OwedSettlement;

use crate::runtime::env::Env;
use crate::runtime::log;
use crate::runtime::post::post_to;

/// Where a source's Worker is told. The host is of no meaning: a service binding leads to one Worker.
const URL: &str = "https://source/settlements";

/// How long a source may take, in milliseconds.
const TIMEOUT_MS: u32 = 30_000;

/// The most that is read of its answer, in bytes.
const MAX_ANSWER_BYTES: u32 = 64 * 1024;

/// Tells a source. False where it is to be told again; a source without a binding asks by itself.
pub(super) async fn tell(env: &Env, owed: &OwedSettlement) -> bool {
    let Some(service) = env.service(&binding(&owed.source)) else {
        return true;
    };
    let reason = match serde_json::to_string(owed) {
        Err(error) => error.to_string(),
        Ok(body) => {
            let headers = [("content-type", "application/json")];
            match post_to(&service, URL, &headers, &body, MAX_ANSWER_BYTES, TIMEOUT_MS).await {
                Ok(posted) if (200..300).contains(&posted.status) => return true,
                Ok(posted) => format!("status {}", posted.status),
                Err(error) => error.to_string(),
            }
        }
    };
    log::error(
        "settlement_not_taken",
        &[
            ("source", &owed.source),
            ("task_id", &owed.task_id),
            ("reason", &reason),
        ],
    );
    false
}

/// The binding of a source: `SOURCE_` and its name in capitals, with `_` for what a name of a binding can't have.
fn binding(source: &str) -> String {
    let name = source.chars().map(|character| {
        if character.is_ascii_alphanumeric() {
            character.to_ascii_uppercase()
        } else {
            '_'
        }
    });
    format!("SOURCE_{}", name.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_told_by_the_binding_of_its_name() {
        assert_eq!(binding("email"), "SOURCE_EMAIL");
        assert_eq!(binding("git-hub.com:8"), "SOURCE_GIT_HUB_COM_8");
    }
}
