//! A typed client of a task plane's trusted surface (`/trusted/v1`), so that a native source or a platform in Rust needs no
//! HTTP of its own.
//!
//! The invariant: **what may be repeated is repeated, and nothing else is.** The plane knows an event by its dedupe key and a
//! mutation by its delivery, so a call whose answer was lost is made again, a few times; what is not safe to repeat comes
//! back as an error.
//!
//! A source does three things, each in a loop:
//!
//! 1. It hands each event over with [`TaskPlane::accept`], and acknowledges it at its provider only then.
//! 2. It follows the settlements of its tasks with [`TaskPlane::follow`].
//! 3. It carries each answer back with [`TaskPlane::deliver`], which makes it once.
//!
//! ```no_run
//! use std::time::SystemTime;
//! use task_plane_client::{Activation, Begin, Endpoint, Outcome, Part, Recovery, SendError, TaskPlane, Token};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = Endpoint::parse("https://agent.example.com")?;
//! let plane = TaskPlane::new(endpoint, Token::new("…".to_owned())?, "chat")?;
//!
//! let event = Activation::new("event-1", SystemTime::now(), vec![Part::text("How many words is this?")])
//!     .locator("channel", "C024BE91L")
//!     .conversation("thread-7");
//! let accepted = plane.accept(&event).await?;
//! println!("{} is task {}", event.dedupe_key, accepted.task_id);
//!
//! let mut settlements = plane.follow().await?;
//! for settlement in settlements.next_page().await? {
//!     let task = plane.task(&settlement.task_id).await?;
//!     let begin = Begin::new(&settlement.task_id, "reply", &task.task, Recovery::Idempotent);
//!     let outcome = plane
//!         .deliver(&begin, async |_delivery_id| {
//!             // … here the provider is called …
//!             Ok::<_, SendError>(Some("response-1".to_owned()))
//!         })
//!         .await?;
//!     assert!(matches!(outcome, Outcome::Delivered { .. }));
//! }
//! settlements.commit().await?;
//! # Ok(())
//! # }
//! ```

mod activation;
mod deliver;
mod delivery;
mod digest;
mod error;
mod evidence;
mod follow;
mod part;
mod plane;
mod retry;
mod source;
mod task;

pub use activation::{Accepted, Activation, Disposition, NativeLocator};
pub use connection::{
    CallError, Endpoint, EndpointError, FieldAtFault, Refusal, Token, TokenError,
};
pub use deliver::{DeliverError, Outcome, SendError};
pub use delivery::{Begin, Begun, DeliveryState, Found, PayloadPolicy, Recovery, Settle, Settled};
pub use digest::{content_digest, digest_of};
pub use error::SetUpError;
pub use evidence::{Evidence, EvidencePage, EvidenceQuery, RecordedEvidence, SourceEvidence};
pub use follow::Settlements;
pub use part::Part;
pub use plane::TaskPlane;
pub use retry::Retry;
pub use source::{Checkpoint, Continuation, Source};
pub use task::{Located, NativeTask, Origin, Settlement, SettlementPage};
