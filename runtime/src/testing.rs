//! An operator in a test, against any client: that of a simulated server, or of a cluster.
//!
//! Guarantees: the operator ends with its handle, and a test that fails shows what it has logged. Leaves to others: the
//! server (`kubesim`).

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tracing::level_filters::LevelFilter;

use crate::api::Operator;
use crate::app::front::Shared;
use crate::cache::Mode;
use crate::controller::{self, Config};

/// How often a condition is checked, and for how long: on paused time that is no time at all.
const POLL: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(120));

/// An operator that runs until this is dropped.
#[derive(Debug)]
pub struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs `operator` through `client`, with the default options and without a cache. Its CRD has to be installed. What it
/// warns of is in the output of a test that fails, unless the test logs by itself.
pub fn start<O: Operator>(operator: O, client: Client) -> Running {
    log();
    let operator = Arc::new(operator);
    let cache = Mode::None.cache(&operator);
    Running(tokio::spawn(controller::run(
        operator,
        cache,
        client,
        Arc::default(),
        Config::default(),
        std::future::pending(),
    )))
}

/// What a controller of a [`Program`](crate::app::program::Program) gets: all namespaces, and no end but its own. What it warns of is in
/// the output of a test that fails.
pub fn shared(client: Client) -> Shared {
    log();
    Shared::new(client)
}

/// One log is enough for all tests of a program.
fn log() {
    let log = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::WARN)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_test_writer();
    let _ = log.try_init();
}

/// Waits until `is_so`, which may ask a client. What is warned of meanwhile is in the output of a test that fails.
///
/// # Panics
/// It is not so within two minutes: fails the test, which says `what`, and where it waited.
#[track_caller]
pub fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    log();
    let place = Location::caller();
    async move {
        let began = Instant::now();
        while !is_so().await {
            assert!(
                began.elapsed() < POLL.1,
                "{place}: not so within {:?}: {what}",
                POLL.1
            );
            sleep(POLL.0).await;
        }
    }
}
