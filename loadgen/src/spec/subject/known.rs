//! The subjects that can be named: those that come with loadgen, and those of files.
//!
//! Guarantees: an id stands for one subject. Leaves to others: their format (`subject`).

use std::path::{Path, PathBuf};

use crate::spec::subject::{Error, Subject};
use crate::spec::workload::shipped;

/// A file of this program with its text.
macro_rules! own {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../subjects/", $name)))
    };
}

/// In the order in which a report shows them.
const BUILT_IN: &[(&str, &str)] = &[
    own!("tare-none.toml"),
    own!("tare-metadata.toml"),
    own!("tare-pruned.toml"),
    own!("tare-controller.toml"),
    own!("tare-controller-tuned.toml"),
    own!("kube-rs-stock.toml"),
    own!("kube-rs-predicate.toml"),
    own!("kube-rs-tuned.toml"),
    own!("controller-runtime-vanilla.toml"),
    own!("controller-runtime-tuned.toml"),
    own!("controller-runtime-storeless.toml"),
    own!("controller-runtime-storeless-tuned.toml"),
];

/// The subjects that come with loadgen. One of somebody else's operator that needs files beside its own is used by its file
/// alone.
///
/// # Errors
/// `Parse`, if the build was given a broken file.
pub fn built_in() -> Result<Vec<Subject>, Error> {
    let parse = |(file, text)| Subject::parse(file, text);
    let own = BUILT_IN.iter().copied().map(parse);
    let others = shipped::subjects().map(parse);
    own.chain(others.filter(|subject| !subject.as_ref().is_ok_and(Subject::needs_folder)))
        .collect()
}

/// The chosen subjects: those of the built-in ones and of the files that are measured by default, or
/// those that `names` lists, whatever they are by default.
///
/// # Errors
/// `Unknown` names the known ones.
pub fn select(
    names: Option<&[String]>,
    files: &[PathBuf],
    on_real_servers: bool,
) -> Result<Vec<Subject>, Error> {
    let mut own: Vec<Subject> = Vec::new();
    for file in files {
        let subject = Subject::from_file(file)?;
        if own.iter().any(|it| it.id() == subject.id()) {
            return Err(Error::Twice(subject.id()));
        }
        own.push(subject);
    }
    // A file is meant, also where one of its name comes with loadgen.
    let mut known = built_in()?;
    known.retain(|it| own.iter().all(|own| own.id() != it.id()));
    known.extend(own);
    let Some(names) = names else {
        known.retain(|subject| subject.measured.by_default(on_real_servers));
        return Ok(known);
    };
    let list = || known.iter().map(Subject::id).collect::<Vec<_>>().join(", ");
    let mut chosen: Vec<Subject> = Vec::new();
    for name in names
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
    {
        let subject = known.iter().find(|k| k.id() == name);
        let subject = subject.ok_or_else(|| Error::Unknown {
            name: name.into(),
            known: list(),
        })?;
        if !chosen.contains(subject) {
            chosen.push(subject.clone());
        }
    }
    if chosen.is_empty() {
        Err(Error::Nothing(list()))
    } else {
        Ok(chosen)
    }
}

/// The one that is meant by a `name/variant`, or by a file that ends in `.toml`.
///
/// # Errors
/// As [`select`].
pub fn one(named: &str) -> Result<Subject, Error> {
    let file = Path::new(named);
    if file.extension().is_some_and(|ending| ending == "toml") {
        return Subject::from_file(file);
    }
    let found = select(Some(&[named.to_owned()]), &[], false)?;
    let first = found.into_iter().next();
    first.ok_or_else(|| Error::Nothing(named.to_owned()))
}
