//! Checks of this repository itself: dependence between rooms, words, links, commands in documents, generated files, and
//! what the benches rest on.
//!
//! Guarantees: reads the sources, the documents and the generated help; a failure names file and line.
//! Leaves to others: what the programs do.

mod benches;
mod check;
mod commands;
mod crd;
mod deploy;
mod documents;
mod links;
mod markdown;
mod plan_fixtures;
mod programs;
mod rooms;
mod supply_chain;
mod tree;
mod vocabulary;

#[path = "../shared/manifests.rs"]
mod manifests;

/// The controller that docs/runtime.md shows, and its test.
#[allow(dead_code)]
#[rustfmt::skip]
mod page;

/// The operator that README.md shows, compiled.
#[allow(dead_code)]
#[rustfmt::skip]
mod note;
