//! A YAML file that a workload or a subject names, with its text for the lines of errors.
//!
//! Guarantees: what only loadgen knows, such as names, is not in a template. Leaves to others: rendering.

use serde_json::Value;

use crate::spec::workload::place::line_of_text;
use crate::spec::workload::{Error, Resource, template};

/// A YAML file: Kubernetes objects, or a template of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// As a user would give it to kubectl.
    pub file: String,
    pub text: String,
}

impl Manifest {
    pub fn error(&self, field: &str, line_with: &str, message: &str) -> Error {
        let line = match line_with {
            "" => Some(1),
            text => line_of_text(&self.text, text).or(Some(1)),
        };
        Error {
            file: self.file.clone(),
            line,
            field: field.to_owned(),
            message: message.to_owned(),
        }
    }

    /// The documents of the file that say anything.
    ///
    /// # Errors
    /// It is not YAML.
    pub fn documents(&self) -> Result<Vec<Value>, Error> {
        let mut all = serde_saphyr::from_multiple::<Value>(&self.text)
            .map_err(|error| self.not_yaml(&error))?;
        all.retain(|document| !document.is_null());
        Ok(all)
    }

    /// What a parser of YAML said.
    pub fn not_yaml(&self, error: &serde_saphyr::Error) -> Error {
        let line = error
            .location()
            .and_then(|at| usize::try_from(at.line()).ok());
        let words = error.without_snippet().to_string();
        let hint = match self.text.contains("{{") {
            true => "; a text with {{ }} needs quotes around all of it",
            false => "; correct this line",
        };
        Error::of_file(&self.file, line, format!("is not YAML: {words}{hint}"))
    }

    pub fn of(&self, error: template::Error) -> Error {
        Error {
            file: self.file.clone(),
            line: line_of_text(&self.text, &error.text),
            field: error.field,
            message: error.message,
        }
    }

    /// What only loadgen knows is not in the template of an object.
    ///
    /// # Errors
    /// It is; `workload` is the file that has it.
    pub fn check(&self, object: &Value, resource: &Resource, workload: &str) -> Result<(), Error> {
        let given = [
            ("apiVersion", resource.api_version()),
            ("kind", resource.kind.clone()),
        ];
        for (field, want) in given {
            if object
                .get(field)
                .is_some_and(|value| *value != want.as_str())
            {
                let message = format!("differs from {want} in {workload}; leave it out");
                return Err(self.error(field, &format!("{field}:"), &message));
            }
        }
        for pointer in ["/metadata", "/metadata/labels", "/metadata/annotations"] {
            if object
                .pointer(pointer)
                .is_some_and(|value| !value.is_object())
            {
                let field = pointer.trim_start_matches('/').replace('/', ".");
                let last = field.rsplit('.').next().unwrap_or_default();
                return Err(self.error(&field, &format!("{last}:"), "is not a map of fields"));
            }
        }
        for field in ["name", "namespace", "generateName"] {
            if object["metadata"].get(field).is_some() {
                let message = "is set by loadgen, so that it knows its objects; leave it out, and set object.name in the workload";
                let of = format!("metadata.{field}");
                return Err(self.error(&of, &format!("{field}:"), message));
            }
        }
        Ok(())
    }
}
