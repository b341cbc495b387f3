//! The operator's own work in time, allocated bytes and requests, without a network: the pure plan,
//! the decoding of an event, the queue, the relist, whole reconciles against the in-process server.
//!
//! `cargo bench --bench reconcile`; a filter (`-- decode`) leaves the rest out.

// `GlobalAlloc`, which the counting allocator implements, is an unsafe trait.
#![allow(unsafe_code)]

#[path = "reconcile/lifecycle.rs"]
mod lifecycle;
#[path = "../tests/scenarios/cluster/simulated.rs"]
mod scenario;
#[path = "reconcile/steps.rs"]
mod steps;
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use criterion::SamplingMode;
use criterion::measurement::WallTime;
use lifecycle::{Cost, PausedCluster};
use support::effort::Effort;
use support::exact::Exact;
use support::figure::Unit;
use support::published::Counterpart;
use support::run::{self, Run};
use tare_runtime::cache::Mode;

/// Bytes allocated since the start; freed bytes are not subtracted.
static ALLOCATED_BYTES: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED_BYTES.fetch_add(layout.size() as u64, Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        let grown_bytes = new_bytes.saturating_sub(layout.size());
        ALLOCATED_BYTES.fetch_add(grown_bytes as u64, Relaxed);
        unsafe { System.realloc(pointer, layout, new_bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Measuring time of one figure.
const MEASURED: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let about = "What the operator does for one object, without a network. `allocated` is what was asked of \
        the allocator, given back or not; `queue` is 1,000 events, `relist` 1,000 EdgeApps with a Deployment and \
        a Service each. `reconcile` is the time within the reconcile function for a new or changed EdgeApp until \
        it is Running, most of which is the in-process server's own; `requests` are its reads and writes.";
    run::main("reconcile", about.to_owned(), measure_all)
}

fn measure_all(run: &mut Run) -> anyhow::Result<()> {
    times(run)?;
    allocations(run)?;
    reconciles(run)
}

fn times(run: &mut Run) -> anyhow::Result<()> {
    let effort = Effort::asked_for();
    let mut criterion = run.criterion(WallTime);

    let mut group = run.times(&mut criterion, "plan", MEASURED);
    group.bench_function("edgeapp", steps::plan()?);
    run.figure("plan/edgeapp", Unit::Nanoseconds, None)?;
    group.finish();

    let mut group = run.times(&mut criterion, "decode", MEASURED);
    for mode in Mode::ALL {
        group.bench_function(mode.to_string(), steps::decode(mode, WallTime)?);
        run.figure(&format!("decode/{mode}"), Unit::Nanoseconds, None)?;
    }
    group.finish();

    let mut group = run.times(&mut criterion, "queue", MEASURED);
    group.bench_function("1000-events", steps::queue());
    run.figure("queue/1000-events", Unit::Nanoseconds, None)?;
    group.finish();

    let mut group = run.times(&mut criterion, "relist", MEASURED);
    group.bench_function("1000-edgeapps", steps::relist(effort.relisted, WallTime));
    run.figure("relist/1000-edgeapps", Unit::Nanoseconds, None)?;
    group.finish();
    Ok(())
}

fn allocations(run: &mut Run) -> anyhow::Result<()> {
    let effort = Effort::asked_for();
    let allocated = || Exact::bytes_of(|| ALLOCATED_BYTES.load(Relaxed));
    let mut criterion = run.criterion(allocated());
    let mut group = run.counts(&mut criterion, "allocated", MEASURED / 2);
    group.bench_function("plan", steps::plan()?);
    run.figure("allocated/plan", Unit::Bytes, None)?;
    for mode in Mode::ALL {
        group.bench_function(format!("decode-{mode}"), steps::decode(mode, allocated())?);
        run.figure(&format!("allocated/decode-{mode}"), Unit::Bytes, None)?;
    }
    group.bench_function(
        "relist-1000-edgeapps",
        steps::relist(effort.relisted, allocated()),
    );
    run.figure("allocated/relist-1000-edgeapps", Unit::Bytes, None)?;
    group.finish();
    Ok(())
}

/// What is done to an EdgeApp, and what Go's is called.
type Operation = (&'static str, fn(&mut PausedCluster) -> Cost);

const OPERATIONS: [Operation; 2] = [
    ("new", PausedCluster::create),
    ("changed", PausedCluster::change),
];

fn reconciles(run: &mut Run) -> anyhow::Result<()> {
    let mut criterion = run.criterion(WallTime);
    let mut group = run.times(&mut criterion, "reconcile", MEASURED);
    group.sampling_mode(SamplingMode::Flat);
    let go = Counterpart {
        what: "median of one call in a burst of 5000, by buckets".to_owned(),
        unit: Unit::Milliseconds,
        metric: "reconcile.p50_ms",
        run: Some(("drain", 5_000)),
        claim: Some(("reconcile.p99_ms", None)),
    };
    for (name, operation) in OPERATIONS {
        for mode in Mode::ALL {
            let id = format!("{name}-{mode}");
            group.bench_function(&id, lifecycle::repeat(mode, operation, |cost| cost.spent));
            run.figure(&format!("reconcile/{id}"), Unit::Nanoseconds, Some(&go))?;
        }
    }
    group.finish();

    let mut criterion = run.criterion(Exact::requests());
    let mut group = run.counts(&mut criterion, "requests", MEASURED / 2);
    let go = Counterpart {
        what: "writes for each new object".to_owned(),
        unit: Unit::Requests,
        metric: "requests.writes_per_object",
        run: Some(("request-count", 5_000)),
        claim: None,
    };
    for (name, operation) in OPERATIONS {
        for mode in Mode::ALL {
            let id = format!("{name}-{mode}");
            group.bench_function(
                &id,
                lifecycle::repeat(mode, operation, |cost| cost.requests),
            );
            run.figure(
                &format!("requests/{id}"),
                Unit::Requests,
                Some(&go).filter(|_| name == "new"),
            )?;
        }
    }
    group.finish();
    Ok(())
}
