//! Memory of the operator as a process: restarted on a server with 0, 500 and 5,000 objects, in each
//! cache mode, and stock kube-rs beside it.
//!
//! What is measured: idle processes (9 s without a request, after which tare has given back what it
//! can), built as cargo builds this bench (`cargo bench --profile dist --bench rss` for what is
//! shipped), against the simulated server on TLS loopback. Ten processes of each, one sample from each.
//! Stock kube-rs opens a connection for every object at once when it starts, so from 500 objects on it
//! is one process, read ten times: its interval says nothing about another start.
//!
//! `cargo bench --bench rss`; a filter (`-- tare-none`) leaves the rest out.

mod support;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use criterion::{BenchmarkGroup, BenchmarkId};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::effort::Effort;
use support::exact::Exact;
use support::figure::Unit;
use support::operators::{Operators, Program, profile};
use support::published::Counterpart;
use support::run::{self, Run};
use support::server::BenchServer;
use tare_procstat::Memory;

/// Objects from which one process of stock kube-rs is enough for one machine.
const MANY: usize = 500;
/// For the readings of one figure: one takes about 0.1 ms, of a large process 10.
const READING: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let about = format!(
        "Resident and anonymous bytes of idle processes, restarted on the simulated server with that many \
         converged EdgeApps; built with cargo's profile `{}` (`cargo bench --profile dist --bench rss` measures what is \
         shipped, which is smaller). kube-rs-stock is one process, read ten times, from {MANY} objects on; all others \
         are ten processes.",
        profile()
    );
    run::main("rss", about, measure_all)
}

fn measure_all(run: &mut Run) -> anyhow::Result<()> {
    let effort = Effort::asked_for();
    allow_connections().context("cannot raise the limit of open files")?;
    let mut resident = run.criterion(Exact::bytes());
    let mut anonymous = run.criterion(Exact::bytes());
    let mut groups = [
        (run.counts(&mut resident, "rss", READING), Figure::RESIDENT),
        (
            run.counts(&mut anonymous, "anonymous", READING),
            Figure::ANONYMOUS,
        ),
    ];
    let tare = [
        Program::tare("tare-none", "none"),
        Program::tare("tare-metadata", "metadata"),
        Program::tare("tare-pruned", "pruned"),
    ];
    let stock = if effort.measures {
        Program::kube_rs().map_err(|error| format!("{error:#}"))
    } else {
        Err("only tried".to_owned())
    };
    for &objects in effort.sizes {
        measure_on_one_server(run, &mut groups, &tare, objects, effort)?;
        match &stock {
            Ok(program) => {
                let one = Effort {
                    processes: if objects >= MANY { 1 } else { effort.processes },
                    ..effort
                };
                let programs = std::slice::from_ref(program);
                measure_on_one_server(run, &mut groups, programs, objects, one)?;
            }
            Err(why) => run.not_measured(&format!("rss/kube-rs-stock/{objects}"), why),
        }
    }
    for (group, _) in groups {
        group.finish();
    }
    Ok(())
}

/// Measures programs that agree on what the objects look like, one after the other.
fn measure_on_one_server(
    run: &mut Run,
    groups: &mut [(BenchmarkGroup<'_, Exact>, Figure); 2],
    programs: &[Program],
    objects: usize,
    effort: Effort,
) -> anyhow::Result<()> {
    let mut server: Option<BenchServer> = None;
    for program in programs {
        // Begun by the first figure that the command line has not filtered out.
        let mut cell: Option<Result<Operators, String>> = None;
        for (group, figure) in groups.iter_mut() {
            let mut nth = 0;
            group.bench_function(BenchmarkId::new(program.name, objects), |bencher| {
                let cell = cell.get_or_insert_with(|| {
                    begin(&mut server, program, objects, effort)
                        .map_err(|error| format!("{error:#}"))
                });
                nth += 1;
                bencher.iter_custom(|readings| read(cell, nth, readings, figure.of));
            });
            let id = format!("{}/{}/{objects}", figure.name, program.name);
            match &cell {
                Some(Err(why)) => run.not_measured(&id, why),
                _ => run.figure(&id, Unit::Bytes, Some(&figure.counterpart(objects)))?,
            }
        }
    }
    Ok(())
}

/// Idle processes on a server with converged objects.
fn begin(
    server: &mut Option<BenchServer>,
    program: &Program,
    objects: usize,
    effort: Effort,
) -> anyhow::Result<Operators> {
    let server = match server {
        Some(server) => server,
        None => server.insert(furnished(program, objects)?),
    };
    let mut operators = Operators::start(server, program, effort.processes)?;
    operators.until_idle(server, effort.rest)?;
    server.check_converged(objects)?;
    // Not every system reports the figure.
    operators.memory(0)?;
    Ok(operators)
}

/// A server whose objects `program` has reconciled.
fn furnished(program: &Program, objects: usize) -> anyhow::Result<BenchServer> {
    let server = BenchServer::open(program.name)?;
    if objects > 0 {
        let mut first = Operators::start(&server, program, 1)?;
        server.create(objects)?;
        first.until_idle(&server, Duration::from_secs(2))?;
        server.check_converged(objects)?;
    }
    Ok(server)
}

/// The sum of that many readings of one process; 0, which criterion refuses, where it cannot be read.
fn read(
    cell: &Result<Operators, String>,
    nth: usize,
    readings: u64,
    of: fn(&Memory) -> u64,
) -> u64 {
    let Ok(operators) = cell else { return 0 };
    (0..readings)
        .map(|_| operators.memory(nth).map_or(0, |memory| of(&memory)))
        .sum()
}

/// What is read, and what Go's is called.
struct Figure {
    name: &'static str,
    of: fn(&Memory) -> u64,
    empty: &'static str,
    restarted: &'static str,
    claims: bool,
}

impl Figure {
    const RESIDENT: Self = Self {
        name: "rss",
        of: |memory| memory.rss_bytes,
        empty: "memory.empty.rss_bytes",
        restarted: "memory.restart.rss_bytes",
        claims: true,
    };
    const ANONYMOUS: Self = Self {
        name: "anonymous",
        of: |memory| memory.anon_bytes,
        empty: "memory.empty.anon_bytes",
        restarted: "memory.restart.anon_bytes",
        claims: false,
    };

    fn counterpart(&self, objects: usize) -> Counterpart {
        let count = objects as u64;
        let (when, metric, claim) = match objects {
            0 => (
                "at its start".to_owned(),
                self.empty,
                ("memory.empty.rss_bytes", Some(5_000)),
            ),
            _ => (
                format!("restarted with {objects} objects"),
                self.restarted,
                ("memory.settled.rss_bytes", Some(count)),
            ),
        };
        Counterpart {
            what: format!("{} {when}", self.name),
            unit: Unit::Bytes,
            metric,
            run: Some(("memory", count)),
            claim: self.claims.then_some(claim),
        }
    }
}

/// Stock kube-rs has a connection for every object at once, and this process the other end of it.
fn allow_connections() -> std::io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )?;
    Ok(())
}
