//! What an operator has to do before it is measured, as data: steps, and what is expected after them.
//!
//! Guarantees: what is read can be done: every kind, expectation and file that a step names is there, and every
//! expression compiles. Leaves to others: doing it (`engine::conformance`).

pub mod expectation;
pub mod format;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::spec::toml_line;
use crate::spec::workload::conformance::expectation::Expectation;
use crate::spec::workload::conformance::format::{Act, ConformanceFile, SettledFile, StepFile};
use crate::spec::workload::folder::Folder;
use crate::spec::workload::place::{Error, Source};
use crate::spec::workload::{ChildKind, Manifest, Resource};

/// The conformance scenario of a workload.
#[derive(Debug, Clone)]
pub struct ConformanceScenario {
    /// What the steps create, without its name.
    pub object: Value,
    /// Of that object.
    pub resource: Resource,
    children: Vec<ChildKind>,
    /// What holds of the object, and at that moment of its children.
    pub settled: Vec<SettledFile>,
    expectations: BTreeMap<String, Vec<Expectation>>,
    /// Objects of other owners, by their file.
    others: BTreeMap<String, Value>,
    pub steps: Vec<StepFile>,
}

/// # Errors
/// The first thing that is wrong.
pub fn read(
    folder: &Folder,
    file: &str,
    resource: &Resource,
    children: &[ChildKind],
) -> Result<ConformanceScenario, Error> {
    let shown = folder.shown(file);
    let unread = |why| {
        let message = format!("cannot be read: {why}; paths are relative to workload.toml");
        Error::of_file(&shown, None, message)
    };
    let text = folder.read(file).map_err(unread)?;
    let source = Source::of(shown.clone(), &text);
    let parsed: ConformanceFile = toml_line::parse(&shown, &text)?;
    let mut expectations = BTreeMap::new();
    for (name, listed) in &parsed.expect {
        let table = format!("expect.{name}");
        let compiled = listed.iter().enumerate().map(|(number, one)| {
            let compiled = Expectation::compile(one);
            compiled.map_err(|(field, why)| source.part(&table, number).error(field, why))
        });
        expectations.insert(name.clone(), compiled.collect::<Result<_, _>>()?);
    }
    let object = yaml(folder, &parsed.object).map_err(|why| source.error("object", why))?;
    let mut others = BTreeMap::new();
    for (number, step) in parsed.steps.iter().enumerate() {
        for file in step.acts.iter().filter_map(Act::file) {
            let other = yaml(folder, file);
            let other = other.map_err(|why| source.part("steps", number).error("acts", why))?;
            others.insert(file.to_owned(), other);
        }
    }
    let scenario = ConformanceScenario {
        object,
        resource: resource.clone(),
        children: children.to_vec(),
        settled: parsed.settled,
        expectations,
        others,
        steps: parsed.steps,
    };
    scenario.check(&source)?;
    Ok(scenario)
}

fn yaml(folder: &Folder, file: &str) -> Result<Value, String> {
    let Manifest { file: shown, text } = folder.manifest(file)?;
    let value: Value =
        serde_saphyr::from_str(&text).map_err(|error| format!("{shown} is not YAML: {error}"))?;
    match value.is_object() {
        true => Ok(value),
        false => Err(format!("{shown} holds no object")),
    }
}

impl ConformanceScenario {
    fn check(&self, source: &Source) -> Result<(), Error> {
        if self.steps.is_empty() {
            return Err(source.error(
                "steps",
                "there is none; write [[steps]] with a name and acts",
            ));
        }
        for (number, settled) in self.settled.iter().enumerate() {
            self.known(settled.kind.as_deref(), &settled.expect)
                .map_err(|(field, why)| source.part("settled", number).error(field, why))?;
        }
        let mut names = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let wrong = |field: &str, why: String| source.part("steps", number).error(field, why);
            if step.name == START || names.contains(&&step.name) {
                let why = format!("{:?}: another step has this name", step.name);
                return Err(wrong("name", why));
            }
            names.push(&step.name);
            for act in &step.acts {
                let known = self.known(act.kind(), act.expectations());
                known.map_err(|(_, why)| wrong("acts", why))?;
            }
        }
        Ok(())
    }

    fn known(&self, kind: Option<&str>, sets: &[String]) -> Result<(), (&'static str, String)> {
        if let Some(kind) = kind.filter(|kind| self.path(kind).is_none()) {
            let why = format!("{kind:?}: no such kind; add it to [[children]] of the workload");
            return Err(("kind", why));
        }
        match sets
            .iter()
            .find(|set| !self.expectations.contains_key(*set))
        {
            Some(set) => Err(("expect", format!("{set:?}: there is no [[expect.{set}]]"))),
            None => Ok(()),
        }
    }

    /// Path of the collection of a kind.
    pub fn path(&self, kind: &str) -> Option<String> {
        if kind == self.resource.kind {
            return Some(self.resource.path());
        }
        let child = self.children.iter().find(|child| child.kind == kind)?;
        Some(child.path(&self.resource.namespace))
    }

    /// The object of a step, by its name.
    pub fn named(&self, name: &str) -> Value {
        let mut object = self.object.clone();
        object["apiVersion"] = self.resource.api_version().into();
        object["kind"] = self.resource.kind.as_str().into();
        self.place(&mut object, name);
        object
    }

    /// An object of another owner, by the name of a step's.
    pub fn other(&self, file: &str, name: &str) -> Value {
        let mut object = self.others.get(file).cloned().unwrap_or_default();
        self.place(&mut object, name);
        object
    }

    fn place(&self, object: &mut Value, name: &str) {
        object["metadata"]["name"] = name.into();
        if self.resource.namespaced {
            object["metadata"]["namespace"] = self.resource.namespace.as_str().into();
        }
    }

    /// What these sets expect of a subject that deviates from some rules, in order.
    pub fn expectations<'a>(
        &'a self,
        sets: &'a [String],
        deviates: &'a [String],
    ) -> impl Iterator<Item = &'a Expectation> + 'a {
        let sets = sets
            .iter()
            .filter_map(move |set| self.expectations.get(set));
        let is_expected = |one: &&Expectation| {
            one.rule
                .as_ref()
                .is_none_or(|rule| !deviates.contains(rule))
        };
        sets.flatten().filter(is_expected)
    }

    /// The rules from which a subject may deviate.
    pub fn rules(&self) -> BTreeSet<&str> {
        let expectations = self.expectations.values().flatten();
        let steps = self.steps.iter();
        let acts = steps
            .clone()
            .flat_map(|step| &step.acts)
            .filter_map(Act::rule);
        let steps = steps.filter_map(|step| step.rule.as_deref());
        let of_expectations = expectations.filter_map(|one| one.rule.as_deref());
        of_expectations.chain(steps).chain(acts).collect()
    }

    /// # Errors
    /// One line, where a subject deviates from a rule that there is not.
    pub fn knows(&self, deviates: &[String]) -> Result<(), String> {
        let rules = self.rules();
        match deviates.iter().find(|rule| !rules.contains(rule.as_str())) {
            None => Ok(()),
            Some(rule) => Err(format!(
                "deviates {rule:?}: the conformance scenario has no such rule; it has {}",
                Vec::from_iter(rules).join(", ")
            )),
        }
    }
}

/// What is done before the first step: the subject says that it is ready.
pub const START: &str = "start";

#[cfg(test)]
mod tests;
