//! kube's own `Controller`, which says what an author expects.

use kube::runtime::controller::{Action, Config, Controller, Error};
use kube::runtime::finalizer;

#[path = "scenarios.rs"]
mod scenarios;

#[path = "articles.rs"]
mod articles;
