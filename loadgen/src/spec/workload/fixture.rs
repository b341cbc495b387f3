//! Objects that are made once, before those that are offered: an Issuer, a class, a namespace.
//!
//! Guarantees: pure; each has a kind and a name, and its texts are rendered once with the namespace of the offered
//! objects. Leaves to others: making and removing them (`target::fixtures`).

use serde::Deserialize;
use serde_json::Value;

use crate::spec::workload::place::line_of_text;
use crate::spec::workload::template::{Fill, Template};
use crate::spec::workload::{Error, FIXTURE_LABEL, Manifest, RUN_LABEL};

/// An object with its kind and its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Fixture {
    /// As the user would open it.
    pub file: String,
    /// Where the object begins to say what it is.
    pub line: Option<usize>,
    pub api_version: String,
    pub kind: String,
    pub name: String,
    /// That of the offered objects without.
    pub namespace: Option<String>,
    object: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: String,
    kind: String,
    metadata: Meta,
}

#[derive(Deserialize)]
struct Meta {
    name: String,
    namespace: Option<String>,
}

impl Fixture {
    /// The objects of a file, in their order.
    ///
    /// # Errors
    /// The first one that is no object of Kubernetes, with the way out.
    pub fn read(file: &Manifest) -> Result<Vec<Self>, Error> {
        let objects = file.documents()?.into_iter();
        let fixtures = objects.map(|object| Self::of(file, object));
        let fixtures: Vec<Self> = fixtures.collect::<Result<_, _>>()?;
        match fixtures.is_empty() {
            true => Err(file.error("", "", "holds no object; write one, or leave the file out")),
            false => Ok(fixtures),
        }
    }

    fn of(file: &Manifest, object: Value) -> Result<Self, Error> {
        // What it says of itself, which tells its place.
        let said = object["metadata"]["name"]
            .as_str()
            .map(|name| format!("name: {name}"));
        let line = said
            .and_then(|said| line_of_text(&file.text, &said))
            .or(Some(1));
        let head = Head::deserialize(&object).map_err(|error| Error {
            line,
            ..file.error(
                "",
                "",
                &format!("an object has apiVersion, kind and metadata.name: {error}"),
            )
        })?;
        let fixture = Self {
            file: file.file.clone(),
            line,
            api_version: head.api_version,
            kind: head.kind,
            name: head.metadata.name,
            namespace: head.metadata.namespace,
            object,
        };
        let made = fixture.made("default", None);
        made.map(|_| fixture).map_err(|error| file.of(error))
    }

    /// The object as it is sent, JSON, with the label of a run.
    ///
    /// # Errors
    /// A text of it is no template.
    pub fn object(&self, namespace: &str, run: Option<&str>) -> Result<Vec<u8>, Error> {
        let made = self.made(namespace, run);
        let made = made.map_err(|error| self.error(&error.to_string()))?;
        Ok(made.to_string().into_bytes())
    }

    fn made(
        &self,
        namespace: &str,
        run: Option<&str>,
    ) -> Result<Value, crate::spec::workload::template::Error> {
        let template = Template::compile(&self.object)?;
        let mut made = template.render(&Fill::of(&self.name, namespace, 0, 0))?;
        if let Some(run) = run {
            made["metadata"]["labels"][RUN_LABEL] = run.into();
            made["metadata"]["labels"][FIXTURE_LABEL] = "true".into();
        }
        Ok(made)
    }

    /// What is wrong with it on a server.
    pub fn error(&self, message: &str) -> Error {
        Error {
            file: self.file.clone(),
            line: self.line,
            field: format!("{} {}", self.kind, self.name),
            message: message.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tare_procstat::temp_dir::TempDir;

    use super::*;
    use crate::spec::workload::folder::Folder;

    fn read(dir: &Path, text: &str) -> Result<Vec<Fixture>, String> {
        std::fs::write(dir.join("f.yaml"), text).expect("writable");
        let file = Folder::Own(dir.to_owned()).manifest("f.yaml");
        let read = Fixture::read(&file.expect("readable"));
        read.map_err(|error| {
            error
                .to_string()
                .replace(&format!("{}/", dir.display()), "")
        })
    }

    #[test]
    fn fixtures_are_read_in_order_and_know_their_namespace() {
        let temp = TempDir::create(&std::env::temp_dir(), "loadgen-fixtures").expect("a folder");
        let text = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: system\n---\n\
            apiVersion: example.com/v1\nkind: Issuer\nmetadata:\n  name: self\nspec:\n  of: \"{{ namespace }}\"\n";
        let fixtures = read(temp.path(), text).expect("valid");
        let names: Vec<_> = fixtures.iter().map(|f| (f.name.as_str(), f.line)).collect();
        assert_eq!(names, [("system", Some(4)), ("self", Some(9))]);
        let issuer = fixtures[1].object("shop", Some("1a2b3c")).expect("valid");
        let issuer: Value = serde_json::from_slice(&issuer).expect("JSON");
        assert_eq!(issuer["spec"]["of"], "shop");
        assert_eq!(issuer["metadata"]["labels"][RUN_LABEL], "1a2b3c");
        for (text, want) in [
            (
                "kind: Issuer\n",
                "f.yaml:1: an object has apiVersion, kind and metadata.name",
            ),
            ("a: [\n", "is not YAML"),
            ("", "f.yaml:1: holds no object"),
            (
                "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  b: \"{{ colour }}\"\n",
                "f.yaml:6: stringData.b: unknown variable `colour`",
            ),
        ] {
            let error = read(temp.path(), text).expect_err(text);
            assert!(
                error.contains(want) && !error.contains('\n'),
                "{text}: {error}"
            );
        }
    }
}
