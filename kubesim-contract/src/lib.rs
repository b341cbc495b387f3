//! The contract suite: the API behaviours that operators rely on, each a named case.
//!
//! Guarantees: a case needs nothing but a [`kube::Client`], so that the same cases run against any
//! server; its expectations are those of kube-apiserver 1.37 and do not change for a server that
//! differs, but for an older Kubernetes that is tested (1.35 and 1.36): where that differs, the case says so
//! and has both; it works in namespaces of its own and ends by a deadline.
//! [`clients`] does the same for client libraries of other languages.
//! Leaves to others: the server, how its history is compacted, and what follows from a failure. The
//! fixture is the suite's own resource, `widgets.contract.tare.dev`.

mod access_review;
mod apply;
mod apply_refusals;
mod built_in_refusals;
mod built_in_rules;
mod built_ins;
pub mod clients;
mod containers;
mod create;
mod definitions;
mod delete;
mod discovery;
mod expect;
mod fixture;
mod gc;
mod kinds;
mod list;
mod logs;
mod ownership;
mod pages;
mod patch;
mod rest;
mod scale;
mod status;
mod update;
mod watch;
mod watch_start;
mod websocket;
mod zeros;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;

pub use crate::expect::Failure;
pub use crate::fixture::{crd, install};

/// Compacts a server's history: afterwards all resourceVersions from before are too old to list or watch from.
///
/// kube-apiserver answers from its watch cache even after its datastore was compacted. So compact the
/// datastore (etcd: `POST /v3/kv/compaction`), then restart kube-apiserver.
pub type Compact = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// One behaviour of the API.
#[derive(Clone, Copy)]
pub struct Case {
    /// The behaviour as a sentence in snake case.
    pub name: &'static str,
    pub theme: &'static str,
    /// Why only a real kube-apiserver passes it; `None` for most.
    pub real_only: Option<&'static str>,
    /// It compacts the server's history, which disturbs the watches of cases that run at the same time.
    pub compacts: bool,
    run: fn(Context) -> BoxFuture<'static, Result<(), Failure>>,
}

/// The inputs of a case.
#[derive(Clone)]
pub struct Context {
    pub client: Client,
    /// Fresh for each case, created by the runner.
    pub namespace: String,
    /// `None` where the history cannot be compacted; cases that need it are skipped.
    pub compact: Option<Compact>,
}

/// Options of a run of the suite.
#[derive(Clone)]
pub struct Options {
    /// Also runs the cases that only a real kube-apiserver passes.
    pub real: bool,
    pub compact: Option<Compact>,
    /// A case that takes longer has failed. A real server may need 30 s to collect the children of a new
    /// kind of owner, because its garbage collector discovers kinds at that interval.
    pub deadline: Duration,
    /// Does not delete the cases' namespaces; for a server that is discarded afterwards. Hundreds of
    /// deletions at once delay the cases that wait for one: a namespace's deletion takes some sixty
    /// consistent lists, and on kine each of them may take a second.
    pub leave_namespaces: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            real: false,
            compact: None,
            deadline: Duration::from_secs(90),
            leave_namespaces: false,
        }
    }
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Passed,
    Failed(Failure),
    /// Not run, with the reason.
    Skipped(String),
}

/// All cases with their outcomes, in the order they ran.
#[derive(Clone)]
pub struct Report {
    pub results: Vec<(Case, Outcome)>,
}

impl Report {
    pub fn passed(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Passed))
    }

    pub fn failed(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    pub fn skipped(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Skipped(_)))
    }

    fn count(&self, is: impl Fn(&Outcome) -> bool) -> usize {
        self.results
            .iter()
            .filter(|(_, outcome)| is(outcome))
            .count()
    }
}

/// Every case, by theme.
pub fn cases() -> Vec<Case> {
    [
        discovery::CASES,
        definitions::CASES,
        create::CASES,
        update::CASES,
        status::CASES,
        patch::CASES,
        scale::CASES,
        apply::CASES,
        apply_refusals::CASES,
        delete::CASES,
        gc::CASES,
        list::CASES,
        pages::CASES,
        watch::CASES,
        watch_start::CASES,
        websocket::CASES,
        kinds::CASES,
        containers::CASES,
        built_ins::CASES,
        built_in_rules::CASES,
        built_in_refusals::CASES,
        zeros::CASES,
        logs::CASES,
        ownership::CASES,
        access_review::CASES,
    ]
    .concat()
}

/// Installs the fixture and runs every case, one after the other.
pub async fn run(client: Client, options: Options) -> Report {
    let installed = install(&client).await;
    let mut results = Vec::new();
    for case in cases() {
        let outcome = match &installed {
            Ok(()) => run_case(&case, &client, &options).await,
            Err(failure) => Outcome::Failed(failure.clone()),
        };
        results.push((case, outcome));
    }
    Report { results }
}

/// Runs one case in a namespace of its own; the fixture has to be installed.
pub async fn run_case(case: &Case, client: &Client, options: &Options) -> Outcome {
    if let (Some(reason), false) = (case.real_only, options.real) {
        return Outcome::Skipped(format!("needs a real kube-apiserver: {reason}"));
    }
    if case.compacts && options.compact.is_none() {
        return Outcome::Skipped("this server's history cannot be compacted from here".to_owned());
    }
    let namespace = match fixture::create_namespace(client).await {
        Ok(namespace) => namespace,
        Err(failure) => return Outcome::Failed(failure),
    };
    let context = Context {
        client: client.clone(),
        namespace: namespace.clone(),
        compact: options.compact.clone(),
    };
    let run = std::panic::AssertUnwindSafe((case.run)(context)).catch_unwind();
    let outcome = match tokio::time::timeout(options.deadline, run).await {
        Ok(Ok(Ok(()))) => Outcome::Passed,
        Ok(Ok(Err(failure))) => Outcome::Failed(failure),
        Ok(Err(_)) => Outcome::Failed(Failure::new("the case", "an end", "a panic")),
        Err(_) => {
            let expected = format!("an end within {:?}", options.deadline);
            Outcome::Failed(Failure::new("the case", expected, "none"))
        }
    };
    if !options.leave_namespaces {
        // An error is not part of the outcome: a failing case may leave finalizers that block the deletion.
        let _ = fixture::delete_namespace(client, &namespace).await;
    }
    outcome
}

/// Declares the cases of a theme: functions of the file, with marks in brackets.
macro_rules! theme {
    ($theme:literal: $($name:ident $([$mark:ident $($reason:literal)?])?),+ $(,)?) => {
        pub(crate) const CASES: &[$crate::Case] = &[$(
            theme!(@case $theme, $name $(, $mark $($reason)?)?)
        ),+];
    };
    (@case $theme:literal, $name:ident) => { theme!(@new $theme, $name, None, false) };
    (@case $theme:literal, $name:ident, compacts) => { theme!(@new $theme, $name, None, true) };
    (@case $theme:literal, $name:ident, real_only $reason:literal) => {
        theme!(@new $theme, $name, Some($reason), false)
    };
    (@new $theme:literal, $name:ident, $real_only:expr, $compacts:literal) => {
        $crate::Case {
            name: stringify!($name),
            theme: $theme,
            real_only: $real_only,
            compacts: $compacts,
            run: |context| Box::pin($name(context)),
        }
    };
}
use theme;
