//! `workload.toml` and the files that it names: read, checked, made into a workload.
//!
//! Guarantees: whatever is wrong is one line with file, line and field, before anything is started; each
//! template is rendered once here. Leaves to others: which workload is meant (`shipped`), and whether a
//! server accepts the objects.

mod definition;
pub mod format;
pub mod template_file;

use serde_json::Value;

use crate::model::subject::Convergence;
use crate::model::workload::condition::Condition;
use crate::model::workload::file::definition::Wrong;
use crate::model::workload::file::format::{ObjectFile, WorkloadFile};
use crate::model::workload::file::template_file::TemplateFile;
use crate::model::workload::fixture::Fixture;
use crate::model::workload::folder::Folder;
use crate::model::workload::place::line_of_field;
use crate::model::workload::scenario::{Compiled, LAST_INDEX};
use crate::model::workload::template::Template;
use crate::model::workload::{
    CANARY, Error, MOST_BYTES, Manifest, Readiness, Resource, Scenario, Workload,
};

/// A file of a workload while it is read.
struct Reader<'a> {
    folder: &'a Folder,
    /// Of `workload.toml`.
    file: &'a str,
    text: String,
}

/// # Errors
/// The first thing that is wrong.
pub fn read(folder: &Folder, file: &str, name: &str) -> Result<Workload, Error> {
    let text = folder.read(file).map_err(|why| Error {
        file: folder.shown(file),
        line: None,
        field: String::new(),
        message: format!("cannot be read: {why}"),
    })?;
    Reader { folder, file, text }.workload(name)
}

impl Reader<'_> {
    /// An error of a field of `workload.toml`.
    fn error(&self, field: &str, message: impl Into<String>) -> Error {
        Error {
            file: self.folder.shown(self.file),
            line: line_of_field(&self.text, field),
            field: field.to_owned(),
            message: message.into(),
        }
    }

    fn parsed(&self) -> Result<WorkloadFile, Error> {
        toml::from_str(&self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = self.text.bytes().take(start);
            Error {
                file: self.folder.shown(self.file),
                line: Some(1 + before.filter(|byte| *byte == b'\n').count()),
                field: String::new(),
                message: error.message().to_owned(),
            }
        })
    }

    fn workload(&self, name: &str) -> Result<Workload, Error> {
        let parsed = self.parsed()?;
        let resource = self.resource(&parsed.object)?;
        let (file, object) = self.template("object.template", &parsed.object.template)?;
        file.check(&object, &resource, &self.folder.shown(self.file))?;
        let update = match &parsed.object.update {
            Some(update) => self.template("object.update", update)?.1,
            // Whatever the kind is, this changes it.
            None => {
                serde_json::json!({"metadata": {"annotations": {"loadgen.tare.dev/update": "{{ digest }}"}}})
            }
        };
        let mut scenario = Scenario {
            name: name.to_owned(),
            service: parsed.service,
            object_bytes: parsed.object_bytes.unwrap_or(0),
            ready_delay_ms: parsed.ready_delay_ms,
            resource,
            object,
            update,
            children: parsed.children,
            pods: parsed.object.pods,
            enlarge: parsed.object.enlarge,
            stand_in: parsed.stand_in,
            compiled: Compiled::default(),
        };
        self.pointers(&scenario)?;
        let bytes = self.rendered(&scenario, &file)?;
        scenario.object_bytes = self.object_bytes(&scenario, parsed.object_bytes, bytes)?;
        let rejected = match &parsed.object.rejected {
            Some(rejected) => {
                let (file, patch) = self.template("object.rejected", rejected)?;
                let rejected = scenario.patched(&patch);
                self.rendered(&rejected, &file)?;
                Some(rejected)
            }
            None => None,
        };
        let readiness = parsed.readiness.map(|readiness| {
            let made = Readiness::new(&readiness.path, readiness.ready, readiness.not_ready);
            made.map_err(|error| self.error("readiness.path", error.message))
        });
        self.convergence(&parsed.convergence)?;
        Ok(Workload {
            name: name.to_owned(),
            description: parsed.description,
            crds: self.crds(&parsed.crds, &scenario.resource)?,
            fixtures: self.fixtures(&parsed.fixtures)?,
            scenario,
            convergence: parsed.convergence,
            readiness: readiness.transpose()?,
            rejected,
            conformance: parsed.conformance,
        })
    }

    fn resource(&self, object: &ObjectFile) -> Result<Resource, Error> {
        let wrong = |field: &str, value: &str, rule: &str| {
            Err(self.error(&format!("object.{field}"), format!("{value:?}: {rule}")))
        };
        let (group, version) = match object.api_version.split_once('/') {
            Some((group, version)) => (group, version),
            None => ("", object.api_version.as_str()),
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_version = version.starts_with('v') && version.chars().all(plain);
        let is_group = group.chars().all(|c| plain(c) || "-.".contains(c));
        let has_group = !group.is_empty() || !object.api_version.contains('/');
        if !is_version || !is_group || !has_group {
            let rule =
                "write it as group/version, such as example.com/v1, or v1 for the core group";
            return wrong("api_version", &object.api_version, rule);
        }
        if !object.kind.starts_with(|c: char| c.is_ascii_uppercase())
            || !object.kind.chars().all(|c| c.is_ascii_alphanumeric())
        {
            return wrong(
                "kind",
                &object.kind,
                "write it as in a manifest, such as ConfigMap",
            );
        }
        if object.plural.is_empty() || !object.plural.chars().all(plain) {
            let rule = "write it as in the path of the API, such as configmaps";
            return wrong("plural", &object.plural, rule);
        }
        // What follows a name is the run and the index, 15 characters: many kinds allow 63 in all, and
        // children get longer ones.
        for (field, value, most) in [
            ("name", &object.name, 30),
            ("namespace", &object.namespace, 63),
        ] {
            let inside = value.chars().all(|c| plain(c) || c == '-');
            let ends = value.starts_with(plain) && value.ends_with(plain);
            if value.len() > most || !inside || !ends {
                let rule = format!("use 1 to {most} of a-z, 0-9 and, inside, '-'");
                return wrong(field, value, &rule);
            }
        }
        Ok(Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: object.kind.clone(),
            plural: object.plural.clone(),
            namespace: object.namespace.clone(),
            run: None,
            prefix: object.name.clone(),
            namespaced: object.namespaced,
        })
    }

    /// A YAML file with its text, each text of it compiled.
    fn template(&self, field: &str, file: &str) -> Result<(TemplateFile, Value), Error> {
        let text = self.folder.read(file).map_err(|why| {
            self.error(
                field,
                format!(
                    "cannot read {}: {why}; paths are relative to this file",
                    self.folder.shown(file)
                ),
            )
        })?;
        let shown = self.folder.shown(file);
        let file = TemplateFile { file: shown, text };
        let value: Value = serde_saphyr::from_str(&file.text).map_err(|e| file.not_yaml(&e))?;
        if !value.is_object() {
            return Err(file.error("", "", "holds no object; write its fields, such as spec:"));
        }
        Template::compile(&value).map_err(|error| file.of(error))?;
        Ok((file, value))
    }

    fn pointers(&self, scenario: &Scenario) -> Result<(), Error> {
        if let Some(pods) = &scenario.pods
            && !pods.field.starts_with('/')
        {
            return Err(self.error(
                "object.pods",
                format!(
                    "{:?}: write a JSON pointer, such as /spec/replicas",
                    pods.field
                ),
            ));
        }
        if let Some(enlarge) = &scenario.enlarge {
            let list = scenario.object.pointer(&enlarge.list);
            if !list.is_some_and(Value::is_array) {
                return Err(self.error(
                    "object.enlarge",
                    format!("{:?}: no such list in the template; write a JSON pointer, such as /spec/env", enlarge.list),
                ));
            }
            Template::compile(&enlarge.item)
                .map_err(|error| self.error("object.enlarge", error.to_string()))?;
        }
        Ok(())
    }

    /// Renders some objects; the bytes of the longest one without words.
    fn rendered(&self, scenario: &Scenario, file: &TemplateFile) -> Result<usize, Error> {
        let resource = &scenario.resource;
        let objects = [
            (CANARY.to_owned(), 0),
            (resource.object_name(1), 1),
            (resource.longest_name(), LAST_INDEX),
        ];
        let mut bare = scenario.clone();
        bare.object_bytes = 0;
        let mut bytes = 0;
        for (name, index) in objects {
            let object = bare
                .object(&name, index, 1)
                .map_err(|error| file.of(error))?;
            bytes = bytes.max(object.len());
            bare.update(&name, index, 1, 1)
                .map_err(|error| file.of(error))?;
        }
        Ok(bytes)
    }

    fn object_bytes(
        &self,
        scenario: &Scenario,
        asked: Option<usize>,
        bare: usize,
    ) -> Result<usize, Error> {
        let field = "object_bytes";
        match asked {
            None => Ok(bare),
            Some(asked) if asked > MOST_BYTES => {
                Err(self.error(field, format!("{asked}: an object has at most {MOST_BYTES} bytes")))
            }
            Some(_) if !scenario.has_words() => Err(self.error(
                field,
                "no text of the template has {{ words }}, which makes an object as large as it should be; add an annotation with it, or leave this out",
            )),
            Some(asked) => Ok(asked),
        }
    }

    fn convergence(&self, convergence: &Convergence) -> Result<(), Error> {
        let conditions = [
            ("convergence.observed", &convergence.observed),
            ("convergence.ready", &convergence.ready),
        ];
        for (field, source) in conditions {
            if let Some(source) = source {
                Condition::compile(source).map_err(|message| self.error(field, message))?;
            }
        }
        convergence
            .check()
            .map_err(|message| self.error("convergence", message))
    }

    fn of(&self, wrong: Wrong) -> Error {
        match wrong {
            Wrong::Workload(field, message) => self.error(field, message),
            Wrong::File(error) => error,
        }
    }

    fn fixtures(&self, files: &[String]) -> Result<Vec<Fixture>, Error> {
        let read = files.iter().map(|file| Fixture::read(self.folder, file));
        let fixtures: Vec<Vec<Fixture>> = read.collect::<Result<_, _>>()?;
        Ok(fixtures.into_iter().flatten().collect())
    }

    /// The files with definitions; one of them defines the kind.
    fn crds(&self, files: &[String], resource: &Resource) -> Result<Vec<Manifest>, Error> {
        let mut manifests = Vec::new();
        for file in files {
            let shown = self.folder.shown(file);
            let text = self.folder.read(file).map_err(|why| {
                self.error(
                    "crds",
                    format!("cannot read {shown}: {why}; paths are relative to this file"),
                )
            })?;
            let file = Manifest { file: shown, text };
            manifests.extend(definition::split(&file).map_err(|wrong| self.of(wrong))?);
        }
        definition::check(&manifests, resource).map_err(|wrong| self.of(wrong))?;
        Ok(manifests)
    }
}

#[cfg(test)]
mod tests;
