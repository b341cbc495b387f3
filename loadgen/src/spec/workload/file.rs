//! `workload.toml` and the files that it names: read, checked, made into a workload.
//!
//! Guarantees: whatever is wrong is one line with file, line and field, before anything is started; each
//! template is rendered once here. Leaves to others: which workload is meant (`shipped`), and whether a
//! server accepts the objects.

pub mod definition;
pub mod format;
mod resource;

use serde_json::Value;

use crate::spec::step;
use crate::spec::step::Step;
use crate::spec::subject::Convergence;
use crate::spec::toml_line::line_of_error;
use crate::spec::workload::condition::Condition;
use crate::spec::workload::conformance;
use crate::spec::workload::file::format::{ObjectFile, WorkloadFile};
use crate::spec::workload::fixture::Fixture;
use crate::spec::workload::folder::Folder;
use crate::spec::workload::place::Source;
use crate::spec::workload::scenario::{Compiled, LAST_INDEX};
use crate::spec::workload::template::Template;
use crate::spec::workload::{
    CANARY, Error, MOST_BYTES, Manifest, Readiness, Resource, Scenario, Workload,
};

/// A file of a workload while it is read.
struct Reader<'a> {
    folder: &'a Folder,
    /// Of `workload.toml`.
    file: &'a str,
    text: &'a str,
    source: Source,
}

/// The most that a kind has of each round of objects.
const MOST_SHARE: usize = 1_000;

/// # Errors
/// The first thing that is wrong.
pub fn read(folder: &Folder, file: &str, name: &str) -> Result<Workload, Error> {
    let unread = |why| Error::of_file(folder.shown(file), None, format!("cannot be read: {why}"));
    let text = folder.read(file).map_err(unread)?;
    let source = Source::of(folder.shown(file), &text);
    let reader = Reader {
        folder,
        file,
        text: &text,
        source,
    };
    reader.workload(name)
}

/// The fields of a kind, whether it is the first one or not.
struct Kind<'a> {
    object: &'a ObjectFile,
    object_bytes: Option<usize>,
    share: usize,
    convergence: &'a Convergence,
}

impl Reader<'_> {
    /// An error of a field of `workload.toml`.
    fn error(&self, field: &str, message: impl Into<String>) -> Error {
        self.source.error(field, message)
    }

    /// The same file, for the errors of one of the further kinds.
    fn also(&self, number: usize) -> Self {
        Self {
            source: self.source.part("also", number),
            ..*self
        }
    }

    fn parsed(&self) -> Result<WorkloadFile, Error> {
        toml::from_str(self.text).map_err(|error| {
            let message = match error.message() {
                missing if missing.starts_with("missing field") => {
                    format!("{missing}; add it: loadgen schema workload lists all fields")
                }
                old if old.starts_with("unknown variant `churn`") => {
                    "steps.do: churn: write recreate, as it is called now".to_owned()
                }
                // Whatever its fields are.
                syntax if toml::from_str::<toml::Table>(self.text).is_err() => {
                    format!("is not TOML: {syntax}; correct this line")
                }
                other => other.to_owned(),
            };
            let line = line_of_error(self.text, &error);
            Error::of_file(self.folder.shown(self.file), Some(line), message)
        })
    }

    fn workload(&self, name: &str) -> Result<Workload, Error> {
        let parsed = self.parsed()?;
        let namespace = parsed.object.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| "loadgen".into());
        let first = Kind {
            object: &parsed.object,
            object_bytes: parsed.object_bytes,
            share: parsed.share,
            convergence: &parsed.convergence,
        };
        let also = parsed.also.iter().enumerate().map(|(number, also)| {
            let kind = Kind {
                object: &also.object,
                object_bytes: also.object_bytes,
                share: also.share,
                convergence: &also.convergence,
            };
            let read = self.also(number).kind(name, &kind, &namespace)?;
            Ok(Scenario {
                convergence: Some(also.convergence.clone()),
                ..read
            })
        });
        let mut scenario = Scenario {
            service: parsed.service,
            ready_delay_ms: parsed.ready_delay_ms,
            children: parsed.children,
            stand_in: parsed.stand_in,
            ..self.kind(name, &first, &namespace)?
        };
        scenario.also = also.collect::<Result<_, Error>>()?;
        self.told_apart(&scenario)?;
        let rejected = match &parsed.object.rejected {
            Some(rejected) => {
                let (file, patch) = self.template("object.rejected", rejected)?;
                let rejected = scenario.patched(&patch);
                self.rendered(&rejected, &file)?;
                Some(rejected)
            }
            None => None,
        };
        self.steps(&parsed.steps, &scenario, rejected.is_some())?;
        let conformance = match &parsed.conformance {
            Some(file) => {
                let (resource, children) = (&scenario.resource, &scenario.children);
                Some(conformance::read(self.folder, file, resource, children)?)
            }
            None => None,
        };
        let readiness = parsed.readiness.map(|readiness| {
            let made = Readiness::new(&readiness.path, readiness.ready, readiness.not_ready);
            made.map_err(|error| self.error("readiness.path", error.message))
        });
        let crds = self.crds(&parsed.crds, &scenario)?;
        self.is_true_or_false(&parsed.convergence, &scenario.resource, &crds)?;
        for (number, also) in scenario.also.iter().enumerate() {
            let convergence = also.convergence.clone().unwrap_or_default();
            let reader = self.also(number);
            reader.is_true_or_false(&convergence, &also.resource, &crds)?;
        }
        Ok(Workload {
            name: name.to_owned(),
            description: parsed.description,
            crds,
            fixtures: self.fixtures(&parsed.fixtures)?,
            scenario,
            convergence: parsed.convergence,
            readiness: readiness.transpose()?,
            rejected,
            steps: parsed.steps,
            conformance,
            source: self.source.clone(),
        })
    }

    /// # Errors
    /// A step that cannot be done, at its own line.
    fn steps(&self, listed: &[Step], scenario: &Scenario, rejected: bool) -> Result<(), Error> {
        let wrong = |number: usize, (field, message): step::Wrong| {
            self.source.part("steps", number).error(field, message)
        };
        for (number, step) in listed.iter().enumerate() {
            step.check().map_err(|it| wrong(number, it))?;
            let lacks = match step {
                Step::Fault { .. } if !rejected => {
                    Some("fault: add object.rejected, which says what makes an object fail")
                }
                Step::DeleteChildren {} if scenario.children.is_empty() => {
                    Some("delete-children: add [[children]], which says what an object owns")
                }
                _ => None,
            };
            if let Some(lacks) = lacks {
                return Err(wrong(number, ("do", lacks.to_owned())));
            }
        }
        step::check_order(listed).map_err(|(number, it)| wrong(number, it))
    }

    /// A kind with its templates, without what only the first kind has.
    fn kind(&self, name: &str, kind: &Kind<'_>, namespace: &str) -> Result<Scenario, Error> {
        if !(1..=MOST_SHARE).contains(&kind.share) {
            let message = format!("{}: use 1 to {MOST_SHARE}", kind.share);
            return Err(self.error("share", message));
        }
        let resource = resource::of(&self.source, kind.object, namespace)?;
        let (file, object) = self.template("object.template", &kind.object.template)?;
        file.check(&object, &resource, &self.folder.shown(self.file))?;
        let update = match &kind.object.update {
            Some(update) => self.template("object.update", update)?.1,
            // Whatever the kind is, this changes it.
            None => {
                serde_json::json!({"metadata": {"annotations": {"loadgen.tare.dev/update": "{{ digest }}"}}})
            }
        };
        let mut scenario = Scenario {
            name: name.to_owned(),
            service: "none".into(),
            object_bytes: kind.object_bytes.unwrap_or(0),
            ready_delay_ms: 0,
            resource,
            object,
            update,
            children: Vec::new(),
            pods: kind.object.pods.clone(),
            enlarge: kind.object.enlarge.clone(),
            stand_in: Vec::new(),
            share: kind.share,
            convergence: None,
            also: Vec::new(),
            compiled: Compiled::default(),
        };
        self.pointers(&scenario)?;
        let bytes = self.rendered(&scenario, &file)?;
        scenario.object_bytes = self.object_bytes(&scenario, kind.object_bytes, bytes)?;
        self.convergence(kind.convergence)?;
        Ok(scenario)
    }

    /// # Errors
    /// Two kinds are one, or a further kind has what only the first one can have.
    fn told_apart(&self, scenario: &Scenario) -> Result<(), Error> {
        for (number, also) in scenario.also.iter().enumerate() {
            let reader = self.also(number);
            let before = scenario.parts().take(number + 1);
            let mut before = before.map(|part| &part.resource);
            let own = &also.resource;
            if before.any(|other| other.path() == own.path() && other.prefix == own.prefix) {
                let message = format!(
                    "{:?}: another kind has the same; choose another name",
                    own.prefix
                );
                return Err(reader.error("object.name", message));
            }
            if also.convergence.as_ref().is_some_and(|c| c.child.is_some()) {
                let message = "only the first kind can be told by its children; say it in CEL over the object";
                return Err(reader.error("convergence.child", message));
            }
        }
        Ok(())
    }

    /// A file that a field names.
    fn manifest(&self, field: &str, file: &str) -> Result<Manifest, Error> {
        let read = self.folder.manifest(file);
        let rule = "paths are relative to this file";
        read.map_err(|why| self.error(field, format!("{why}; {rule}")))
    }

    /// A YAML file with its text, each text of it compiled.
    fn template(&self, field: &str, file: &str) -> Result<(Manifest, Value), Error> {
        let file = self.manifest(field, file)?;
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
    fn rendered(&self, scenario: &Scenario, file: &Manifest) -> Result<usize, Error> {
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
        self.conditions(convergence)?;
        convergence
            .check()
            .map_err(|message| self.error("convergence", message))
    }

    /// The conditions that are written, each with its field.
    fn conditions<'a>(
        &self,
        convergence: &'a Convergence,
    ) -> Result<Vec<(&'static str, &'a str, Condition)>, Error> {
        let all = [
            ("convergence.observed", &convergence.observed),
            ("convergence.ready", &convergence.ready),
        ];
        let written = all.into_iter().filter_map(|(field, source)| {
            let source = source.as_deref()?;
            let compiled = Condition::compile(source).map_err(|message| self.error(field, message));
            Some(compiled.map(|condition| (field, source, condition)))
        });
        written.collect()
    }

    /// A condition that is a field and nothing else is one of type boolean, by the definition of its kind.
    fn is_true_or_false(
        &self,
        convergence: &Convergence,
        resource: &Resource,
        crds: &[Manifest],
    ) -> Result<(), Error> {
        for (name, source, condition) in self.conditions(convergence)? {
            let field = condition.field();
            let kind = field.and_then(|field| definition::type_of(crds, resource, &field));
            if let Some(kind) = kind.filter(|kind| kind != "boolean") {
                return Err(self.error(
                    name,
                    format!("{source:?} is a {kind}, not true or false; compare it, as in self.status.phase == 'Ready'"),
                ));
            }
        }
        Ok(())
    }

    fn fixtures(&self, files: &[String]) -> Result<Vec<Fixture>, Error> {
        let read = files.iter();
        let read = read.map(|file| Fixture::read(&self.manifest("fixtures", file)?));
        let fixtures: Vec<Vec<Fixture>> = read.collect::<Result<_, _>>()?;
        Ok(fixtures.into_iter().flatten().collect())
    }

    /// The files with definitions; the first kind is one of them, and so are others of its group.
    fn crds(&self, files: &[String], scenario: &Scenario) -> Result<Vec<Manifest>, Error> {
        let mut manifests = Vec::new();
        for file in files {
            manifests.extend(definition::split(&self.manifest("crds", file)?)?);
        }
        let checked = definition::check(&manifests, &scenario.resource);
        checked.map_err(|(field, message)| self.error(field, message))?;
        for (number, also) in scenario.also.iter().enumerate() {
            let checked = definition::check(&manifests, &also.resource);
            checked.map_err(|(field, message)| match field {
                // The files are listed once, for all kinds.
                "crds" => self.error(field, message),
                _ => self.also(number).error(field, message),
            })?;
        }
        Ok(manifests)
    }
}

#[cfg(test)]
mod tests;
