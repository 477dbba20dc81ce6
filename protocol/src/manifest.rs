//! The workflow manifest: which outputs the agent's workflow declares, and so may record.
//!
//! `A2A_WORKFLOW_MANIFEST` holds the manifest's JSON, `{"workflows": [{"id", "outputs": [{"name",
//! "type"}]}]}`, or names the static asset that does ([`asset_path`]); `A2A_WORKFLOW` selects a workflow when there are several. Other fields are ignored, since
//! the manifest is made by another tool and says more than is needed here. A manifest that breaks a rule
//! does not load at all; the Worker logs [`LOAD_FAILED_EVENT`] with the error.

use serde_json::{Map, Value};

use crate::configuration::{self, JsonProblem};

/// The log event of a manifest that does not load.
pub const LOAD_FAILED_EVENT: &str = "a2a_workflow_manifest_load_failed";
/// Largest manifest that is parsed, in bytes.
pub const MAX_MANIFEST_BYTES: usize = 256 * 1024;
/// Most workflows in a manifest.
pub const MAX_WORKFLOWS: usize = 256;
/// Most outputs of a workflow.
pub const MAX_OUTPUTS: usize = 256;
/// Longest id, name or type, in bytes.
pub const MAX_NAME_BYTES: usize = 128;

/// Why a manifest did not load. What is named of it is a place, never free text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// Over [`MAX_MANIFEST_BYTES`].
    #[error("A2A_WORKFLOW_MANIFEST is over {MAX_MANIFEST_BYTES} bytes")]
    TooLarge,
    /// Not JSON, or not unambiguous.
    #[error("A2A_WORKFLOW_MANIFEST: {0}")]
    NotJson(JsonProblem),
    /// A field is missing, of another type, or over its bound.
    #[error("A2A_WORKFLOW_MANIFEST: {path} must be {expected}")]
    Shape {
        /// The field.
        path: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A name or type of an output does not match the pattern.
    #[error("A2A_WORKFLOW_MANIFEST: {path} must match ^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$")]
    Name {
        /// The field.
        path: String,
    },
    /// Two workflows with one id, or two outputs of a workflow with one name.
    #[error("A2A_WORKFLOW_MANIFEST: {path} is there twice")]
    Duplicate {
        /// The second of them.
        path: String,
    },
    /// Several workflows, and `A2A_WORKFLOW` is not set.
    #[error("A2A_WORKFLOW must select one of the workflows {}", .ids.join(", "))]
    SelectionRequired {
        /// The ids of the manifest.
        ids: Vec<String>,
    },
    /// `A2A_WORKFLOW` names none of the workflows.
    #[error("A2A_WORKFLOW names a workflow that is not in the manifest; it has {}", .ids.join(", "))]
    SelectionUnknown {
        /// The ids of the manifest.
        ids: Vec<String>,
    },
}

/// One declared output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What the tools call it.
    pub name: String,
    /// Its label, which the artifact carries.
    pub output_type: String,
}

/// The selected workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    /// Its id in the manifest.
    pub id: String,
    /// Its outputs, in the manifest's order.
    pub outputs: Vec<Output>,
}

impl Workflow {
    /// The type of a declared output; `None` when the workflow declares no such output.
    #[must_use]
    pub fn output_type(&self, name: &str) -> Option<&str> {
        self.outputs
            .iter()
            .find(|output| output.name == name)
            .map(|output| output.output_type.as_str())
    }
}

/// Reads a manifest and selects its workflow. `selected` is `A2A_WORKFLOW`; blank means not set, which is
/// enough when the manifest has one workflow.
///
/// # Errors
/// The first rule that the manifest or the selection breaks.
pub fn load(manifest: &str, selected: Option<&str>) -> Result<Workflow, ManifestError> {
    let mut workflows = parse(manifest)?;
    let ids = |workflows: &[Workflow]| workflows.iter().map(|w| w.id.clone()).collect();
    match selected.map(str::trim).filter(|id| !id.is_empty()) {
        Some(id) => match workflows.iter().position(|workflow| workflow.id == id) {
            Some(index) => Ok(workflows.swap_remove(index)),
            None => Err(ManifestError::SelectionUnknown {
                ids: ids(&workflows),
            }),
        },
        None if workflows.len() > 1 => Err(ManifestError::SelectionRequired {
            ids: ids(&workflows),
        }),
        None => workflows.pop().ok_or(ManifestError::Shape {
            path: "workflows".into(),
            expected: WORKFLOWS,
        }),
    }
}

/// The path of the static asset that holds the manifest, where the var names one: it begins with `/`, as no JSON does.
#[must_use]
pub fn asset_path(var: &str) -> Option<&str> {
    let path = var.trim();
    path.starts_with('/').then_some(path)
}

const WORKFLOWS: &str = "an array of 1 to 256 workflows";
const OUTPUTS: &str = "an array of at most 256 outputs";
const OBJECT: &str = "an object";
const ID: &str = "a string of 1 to 128 printable ASCII characters";

fn parse(manifest: &str) -> Result<Vec<Workflow>, ManifestError> {
    if manifest.len() > MAX_MANIFEST_BYTES {
        return Err(ManifestError::TooLarge);
    }
    let document = configuration::parse(manifest).map_err(ManifestError::NotJson)?;
    let document = object(&document, "the manifest")?;
    let items = document
        .get("workflows")
        .and_then(Value::as_array)
        .filter(|items| (1..=MAX_WORKFLOWS).contains(&items.len()))
        .ok_or_else(|| shape("workflows", WORKFLOWS))?;
    let mut workflows: Vec<Workflow> = Vec::with_capacity(items.len());
    for (index, value) in items.iter().enumerate() {
        let path = format!("workflows[{index}]");
        let workflow = parse_workflow(value, &path)?;
        if workflows.iter().any(|other| other.id == workflow.id) {
            return Err(ManifestError::Duplicate {
                path: format!("{path}.id"),
            });
        }
        workflows.push(workflow);
    }
    Ok(workflows)
}

fn parse_workflow(value: &Value, path: &str) -> Result<Workflow, ManifestError> {
    let fields = object(value, path)?;
    let id = fields
        .get("id")
        .and_then(Value::as_str)
        .filter(|id| {
            (1..=MAX_NAME_BYTES).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
        })
        .ok_or_else(|| shape(&format!("{path}.id"), ID))?;
    let declared = match fields.get("outputs") {
        None => &[][..],
        Some(outputs) => outputs
            .as_array()
            .filter(|outputs| outputs.len() <= MAX_OUTPUTS)
            .ok_or_else(|| shape(&format!("{path}.outputs"), OUTPUTS))?,
    };
    let mut outputs: Vec<Output> = Vec::with_capacity(declared.len());
    for (index, value) in declared.iter().enumerate() {
        let path = format!("{path}.outputs[{index}]");
        let fields = object(value, &path)?;
        let output = Output {
            name: name(fields, "name", &path)?,
            output_type: name(fields, "type", &path)?,
        };
        if outputs.iter().any(|other| other.name == output.name) {
            return Err(ManifestError::Duplicate {
                path: format!("{path}.name"),
            });
        }
        outputs.push(output);
    }
    Ok(Workflow {
        id: id.to_owned(),
        outputs,
    })
}

fn object<'v>(value: &'v Value, path: &str) -> Result<&'v Map<String, Value>, ManifestError> {
    value.as_object().ok_or_else(|| shape(path, OBJECT))
}

fn shape(path: &str, expected: &'static str) -> ManifestError {
    ManifestError::Shape {
        path: path.to_owned(),
        expected,
    }
}

fn name(fields: &Map<String, Value>, key: &str, path: &str) -> Result<String, ManifestError> {
    fields
        .get(key)
        .and_then(Value::as_str)
        .filter(|name| is_output_name(name))
        .map(str::to_owned)
        .ok_or_else(|| ManifestError::Name {
            path: format!("{path}.{key}"),
        })
}

/// Whether `name` matches `^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$` and has at most [`MAX_NAME_BYTES`]: words of
/// lower-case letters and digits, one separator between two, the first beginning with a letter.
#[must_use]
pub fn is_output_name(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split(['.', '_', '-']).all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn load_json(manifest: Value, selected: Option<&str>) -> Result<Workflow, ManifestError> {
        load(&manifest.to_string(), selected)
    }

    fn two() -> Value {
        json!({"workflows": [
            {"id": "review", "outputs": [{"name": "report", "type": "document"}]},
            {"id": "release", "outputs": [{"name": "pull-request", "type": "forge.pull_request"}]},
        ]})
    }

    #[test]
    fn a_single_workflow_needs_no_selection() {
        let workflow = load_json(
            json!({"workflows": [{"id": "review", "outputs": [{"name": "report", "type": "document"}], "more": 1}], "v": 2}),
            None,
        )
        .unwrap();
        assert_eq!(workflow.id, "review");
        assert_eq!(workflow.output_type("report"), Some("document"));
        assert_eq!(workflow.output_type("Report"), None);
        assert_eq!(workflow.output_type(""), None);
    }

    #[test]
    fn one_of_several_workflows_is_selected_by_id() {
        let workflow = load_json(two(), Some(" release ")).unwrap();
        assert_eq!(
            workflow.output_type("pull-request"),
            Some("forge.pull_request")
        );
        assert_eq!(workflow.output_type("report"), None);
    }

    #[test]
    fn several_workflows_without_a_selection_are_an_error_that_lists_them() {
        for selected in [None, Some(""), Some(" ")] {
            let error = load_json(two(), selected).unwrap_err();
            assert_eq!(
                error.to_string(),
                "A2A_WORKFLOW must select one of the workflows review, release"
            );
        }
    }

    #[test]
    fn a_selection_that_is_not_there_is_an_error_that_lists_what_is() {
        let error = load_json(two(), Some("deploy")).unwrap_err();
        assert!(matches!(error, ManifestError::SelectionUnknown { .. }));
        assert!(error.to_string().ends_with("review, release"));
    }

    #[test]
    fn a_manifest_is_json_or_the_path_of_an_asset() {
        let path = "/workflow-composition.json";
        assert_eq!(asset_path(path), Some(path));
        assert_eq!(asset_path(&format!(" {path}\n")), Some(path));
        for text in [two().to_string().as_str(), "", "workflow.json", "./a.json"] {
            assert_eq!(asset_path(text), None, "{text}");
        }
    }

    #[test]
    fn a_workflow_without_outputs_declares_none() {
        assert!(
            load_json(json!({"workflows": [{"id": "w"}]}), None)
                .unwrap()
                .outputs
                .is_empty()
        );
    }

    #[test]
    fn a_manifest_that_breaks_a_rule_names_the_place() {
        let output = |output: Value| json!({"workflows": [{"id": "w", "outputs": [output]}]});
        let table = [
            (json!([]), "the manifest must be"),
            (json!({}), "workflows must be"),
            (json!({"workflows": []}), "workflows must be"),
            (json!({"workflows": ["w"]}), "workflows[0] must be"),
            (
                json!({"workflows": [{"outputs": []}]}),
                "workflows[0].id must be",
            ),
            (
                json!({"workflows": [{"id": "a b"}]}),
                "workflows[0].id must be",
            ),
            (
                json!({"workflows": [{"id": "w", "outputs": {}}]}),
                "workflows[0].outputs must be",
            ),
            (
                json!({"workflows": [{"id": "w"}, {"id": "w"}]}),
                "workflows[1].id is there twice",
            ),
            (output(json!(1)), "workflows[0].outputs[0] must be"),
            (
                output(json!({"type": "t"})),
                "workflows[0].outputs[0].name must match",
            ),
            (
                output(json!({"name": "Bad", "type": "t"})),
                "workflows[0].outputs[0].name must match",
            ),
            (
                output(json!({"name": "n"})),
                "workflows[0].outputs[0].type must match",
            ),
            (
                output(json!({"name": "n", "type": "t-"})),
                "workflows[0].outputs[0].type must match",
            ),
            (
                json!({"workflows": [{"id": "w", "outputs": [{"name": "n", "type": "t"}, {"name": "n", "type": "u"}]}]}),
                "workflows[0].outputs[1].name is there twice",
            ),
        ];
        for (manifest, expected) in table {
            let error = load_json(manifest.clone(), None).unwrap_err().to_string();
            assert!(error.contains(expected), "{manifest}: {error}");
        }
    }

    #[test]
    fn every_workflow_must_be_right_not_only_the_selected_one() {
        let manifest = json!({"workflows": [{"id": "a"}, {"id": "b", "outputs": [{"name": "B", "type": "t"}]}]});
        assert!(load_json(manifest, Some("a")).is_err());
    }

    #[test]
    fn text_that_is_no_json_or_too_large_is_refused() {
        for text in ["{", "", r#"{"workflows": [], "workflows": []}"#] {
            assert!(matches!(load(text, None), Err(ManifestError::NotJson(_))));
        }
        let large = " ".repeat(MAX_MANIFEST_BYTES + 1);
        assert_eq!(load(&large, None), Err(ManifestError::TooLarge));
    }

    #[test]
    fn the_texts_of_the_bounds_are_the_bounds() {
        assert!(WORKFLOWS.contains(&MAX_WORKFLOWS.to_string()));
        assert!(OUTPUTS.contains(&MAX_OUTPUTS.to_string()));
        assert!(ID.contains(&MAX_NAME_BYTES.to_string()));
    }

    #[test]
    fn output_names_follow_the_pattern() {
        for name in ["a", "report", "a1", "pull-request", "a.b_c-d", "a-1", "x.9"] {
            assert!(is_output_name(name), "{name}");
        }
        for name in [
            "", "A", "1a", "-a", "a-", "a--b", "a._b", "a b", "é", "a\n", "aB", ".a",
        ] {
            assert!(!is_output_name(name), "{name:?}");
        }
        assert!(is_output_name(&"a".repeat(MAX_NAME_BYTES)));
        assert!(!is_output_name(&"a".repeat(MAX_NAME_BYTES + 1)));
    }

    proptest! {
        #[test]
        fn names_made_by_the_pattern_match(name in "[a-z][a-z0-9]{0,5}([._-][a-z0-9]{1,5}){0,4}") {
            prop_assert!(is_output_name(&name));
        }

        #[test]
        fn any_text_loads_or_is_refused(manifest in "\\PC{0,200}", selected in prop::option::of("\\PC{0,20}")) {
            let _ = load(&manifest, selected.as_deref());
        }
    }
}
