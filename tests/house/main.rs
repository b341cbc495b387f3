//! Checks of this repository itself: dependence between rooms, words, links, commands in documents.
//!
//! Guarantees: reads the sources, the documents and the generated help; a failure names file and line.
//! Leaves to others: what the programs do.

mod commands;
mod documents;
mod links;
mod markdown;
mod programs;
mod rooms;
mod supply_chain;
mod tree;
mod vocabulary;

/// The controller that docs/runtime.md shows, and its test.
#[allow(dead_code)]
#[rustfmt::skip]
mod page;

/// The operator that README.md shows, compiled.
#[allow(dead_code)]
#[rustfmt::skip]
mod note;
