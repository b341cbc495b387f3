//! Our `Controller`.

use tare_runtime::free::{Action, Config, Controller, Error, finalizer};

#[path = "scenarios.rs"]
mod scenarios;

#[path = "articles.rs"]
mod articles;
