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
//!
//! With `--features alloc-statistics` the allocator is jemalloc, as where tare ships, and its own figures stand beside RSS: live
//! blocks, the pages that they are on, all its resident pages. Its statistics are a part of these processes and of no program
//! that ships, so they have names of their own, and only mode none is measured.

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

/// Objects from which one process of stock kube-rs is enough for one machine.
const MANY: usize = 500;
/// For the readings of one figure: one takes about 0.1 ms, of a large process 10.
const READING: Duration = Duration::from_millis(200);

/// Whether the operator tells the figures of its allocator.
const STATISTICS: bool = cfg!(feature = "alloc-statistics");

fn main() -> ExitCode {
    let name = match STATISTICS {
        true => "rss --features alloc-statistics",
        false => "rss",
    };
    let about = format!(
        "Resident and anonymous bytes of idle processes, restarted on the simulated server with that many \
         converged EdgeApps; built with cargo's profile `{}` (`cargo bench --profile dist --bench rss` measures what is \
         shipped, which is smaller). kube-rs-stock is one process, read ten times, from {MANY} objects on; all others \
         are ten processes.",
        profile()
    );
    run::main(name, about, measure_all)
}

fn measure_all(run: &mut Run) -> anyhow::Result<()> {
    let effort = Effort::asked_for();
    allow_connections().context("cannot raise the limit of open files")?;
    let figures: &[Figure] = match STATISTICS {
        true => &Figure::WITH_STATISTICS,
        false => &Figure::ALONE,
    };
    let mut criteria: Vec<_> = figures
        .iter()
        .map(|_| run.criterion(Exact::bytes()))
        .collect();
    let groups = criteria.iter_mut().zip(figures);
    let mut groups: Vec<_> = groups
        .map(|(criterion, figure)| (run.counts(criterion, figure.name, READING), figure))
        .collect();
    let mut tare = vec![Program::tare("tare-none", "none")];
    if !STATISTICS {
        tare.push(Program::tare("tare-metadata", "metadata"));
        tare.push(Program::tare("tare-pruned", "pruned"));
        run.not_measured(
            "jemalloc's own figures",
            "they need --features alloc-statistics",
        );
    }
    let stock = match effort.measures && !STATISTICS {
        true => Program::kube_rs().map_err(|error| format!("{error:#}")),
        false => Err("only tried".to_owned()),
    };
    for &objects in effort.sizes {
        measure_on_one_server(run, &mut groups, &tare, objects, effort)?;
        if STATISTICS {
            continue;
        }
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
    groups: &mut [(BenchmarkGroup<'_, Exact>, &Figure)],
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
                _ => run.figure(&id, Unit::Bytes, figure.counterpart(objects).as_ref())?,
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
    // Not every system reports the figures.
    operators.memory(0)?;
    if STATISTICS {
        operators.metric(0, ALLOCATED)?;
    }
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
fn read(cell: &Result<Operators, String>, nth: usize, readings: u64, of: Of) -> u64 {
    let Ok(operators) = cell else { return 0 };
    (0..readings).map(|_| of(operators, nth).unwrap_or(0)).sum()
}

/// Bytes of the `nth` process.
type Of = fn(&Operators, usize) -> anyhow::Result<u64>;

/// What is read, and what Go's is called.
struct Figure {
    name: &'static str,
    of: Of,
    go: Option<Go>,
}

struct Go {
    what: &'static str,
    empty: &'static str,
    restarted: &'static str,
    claims: bool,
}

/// A metric of jemalloc's.
const ALLOCATED: &str = "jemalloc_allocated_bytes";

impl Figure {
    const ALONE: [Self; 2] = [Self::resident("rss"), Self::anonymous("anonymous")];
    const WITH_STATISTICS: [Self; 5] = [
        Self::resident("jemalloc-rss"),
        Self::anonymous("jemalloc-anonymous"),
        Self::of_jemalloc("jemalloc-allocated", |operators, nth| {
            operators.metric(nth, ALLOCATED)
        }),
        Self::of_jemalloc("jemalloc-active", |operators, nth| {
            operators.metric(nth, "jemalloc_active_bytes")
        }),
        Self::of_jemalloc("jemalloc-resident", |operators, nth| {
            operators.metric(nth, "jemalloc_resident_bytes")
        }),
    ];

    const fn resident(name: &'static str) -> Self {
        Self {
            name,
            of: |operators, nth| Ok(operators.memory(nth)?.rss_bytes),
            go: Some(Go {
                what: "rss",
                empty: "memory.empty.rss_bytes",
                restarted: "memory.restart.rss_bytes",
                claims: true,
            }),
        }
    }

    const fn anonymous(name: &'static str) -> Self {
        Self {
            name,
            of: |operators, nth| Ok(operators.memory(nth)?.anon_bytes),
            go: Some(Go {
                what: "anonymous",
                empty: "memory.empty.anon_bytes",
                restarted: "memory.restart.anon_bytes",
                claims: false,
            }),
        }
    }

    const fn of_jemalloc(name: &'static str, of: Of) -> Self {
        Self { name, of, go: None }
    }

    fn counterpart(&self, objects: usize) -> Option<Counterpart> {
        let go = self.go.as_ref()?;
        let count = objects as u64;
        let (when, metric, claim) = match objects {
            0 => (
                "at its start".to_owned(),
                go.empty,
                ("memory.empty.rss_bytes", Some(5_000)),
            ),
            _ => (
                format!("restarted with {objects} objects"),
                go.restarted,
                ("memory.settled.rss_bytes", Some(count)),
            ),
        };
        Some(Counterpart {
            what: format!("{} {when}", go.what),
            unit: Unit::Bytes,
            metric,
            run: Some(("memory", count)),
            claim: go.claims.then_some(claim),
        })
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
