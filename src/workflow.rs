//! The selected workflow: read from the var itself, or from the deployment's static assets where the var names one.

use std::cell::RefCell;
use std::rc::Rc;

use protocol::manifest::{self, ManifestError, Workflow};

use crate::runtime::env::Env;
use crate::runtime::log;
use crate::runtime::service::Service;

/// The binding of the deployment's static assets.
const ASSETS: &str = "ASSETS";

/// How long an asset may take, in milliseconds.
const ASSET_TIMEOUT_MS: u32 = 10_000;

/// Which outputs may be recorded. None are where no manifest is configured, or where it did not load: why is in the log.
pub struct Declared {
    workflow: RefCell<Option<Rc<Workflow>>>,
    asset: RefCell<Option<Asset>>,
}

/// A manifest that is still to be read.
#[derive(Clone)]
struct Asset {
    assets: Service,
    path: String,
    selected: Option<String>,
}

impl Declared {
    /// What the vars say. An asset is read when an output is recorded first.
    pub fn of(env: &Env) -> Self {
        let manifest = env.var("A2A_WORKFLOW_MANIFEST").unwrap_or_default();
        let selected = env.var("A2A_WORKFLOW");
        let mut declared = Self {
            workflow: RefCell::default(),
            asset: RefCell::default(),
        };
        if let Some(path) = manifest::asset_path(&manifest) {
            match env.service(ASSETS) {
                Some(assets) => {
                    let path = path.to_owned();
                    declared.asset = RefCell::new(Some(Asset {
                        assets,
                        path,
                        selected,
                    }));
                }
                None => not_loaded("there is no binding ASSETS to read the asset from"),
            }
        } else if !manifest.trim().is_empty() {
            declared.take(manifest::load(&manifest, selected.as_deref()));
        }
        declared
    }

    /// The workflow. What an asset holds is kept for this instance's life, also where it is no manifest; one that could
    /// not be read is tried again at the next call.
    pub async fn workflow(&self) -> Option<Rc<Workflow>> {
        let asset = self.asset.borrow().clone();
        if let Some(asset) = asset {
            let max_bytes = u32::try_from(manifest::MAX_MANIFEST_BYTES).unwrap_or(u32::MAX);
            match asset
                .assets
                .get(&asset.path, max_bytes, ASSET_TIMEOUT_MS)
                .await
            {
                Ok(read) => {
                    self.asset.take();
                    let manifest = String::from_utf8_lossy(&read);
                    self.take(manifest::load(&manifest, asset.selected.as_deref()));
                }
                Err(error) => not_loaded(&error.to_string()),
            }
        }
        self.workflow.borrow().clone()
    }

    fn take(&self, loaded: Result<Workflow, ManifestError>) {
        match loaded {
            Ok(workflow) => drop(self.workflow.replace(Some(Rc::new(workflow)))),
            Err(error) => not_loaded(&error.to_string()),
        }
    }
}

fn not_loaded(reason: &str) {
    log::error(manifest::LOAD_FAILED_EVENT, &[("reason", reason)]);
}
