//! `loadgen run`: load on the user's cluster, and an account of every object.
//!
//! Guarantees: the run prints what it will create before it creates it; on a cluster that is not local
//! it also asks. Every object carries the run's label and is deleted by that label at the end, also
//! after Ctrl-C, unless `--keep` was given. Objects ask for pods without `--pods` only on a local cluster
//! without nodes, such as that of `loadgen control-plane up`, because no pod runs there. Leaves to
//! others: objects left by a SIGKILL (`loadgen clean`).

pub mod account;
pub mod args;
pub mod capacity;
pub mod dry_run;
pub mod merged;
pub mod most_objects;
pub mod operator;
pub mod pods;
pub mod prepare;
pub mod record;
pub mod stand_ins;
pub mod steps;

use crate::cli::{exit_code, means};
use crate::target::cleanup;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use crate::cli::command_line;
use crate::cli::run::account::{Account, Removal};
pub use crate::cli::run::args::RunArgs;
pub(crate) use crate::cli::run::args::dns_label;
use crate::cli::run::most_objects::Objects;
use crate::cli::run::operator::{Watched, Watching};
use crate::cli::run::pods::Pods;
use crate::cli::run::record::RunRecord;
use crate::cli::run::steps::{Done, OnCluster};
use crate::engine::convergence::convergence;
use crate::engine::load::Load;
use crate::engine::step::objects;
use crate::error::Usage;
use crate::load::journal::Journal;
use crate::load::look;
use crate::load::observer::Observer;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::record::Convergence;
use crate::run_id;
use crate::spec::shard::Shard;
use crate::spec::workload;
use crate::spec::workload::{RUN_LABEL, Scenario, Workload};
use crate::target::cleanup::{CleanUp, Made, Scope};
use crate::target::cluster::Cluster;
use crate::target::context::Target;
use crate::target::fixtures;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

/// A run on its target.
struct ClusterRun {
    args: RunArgs,
    /// The value of the run's label.
    run: String,
    target: Target,
    cluster: Cluster,
    workload: Workload,
    scenario: Arc<Scenario>,
    stop: Interrupt,
    progress: Arc<Progress>,
    operator: Option<Watching>,
    /// Known once it is prepared.
    pods: Pods,
}

/// What came of the objects, until they are removed.
struct Loaded {
    /// After the creation.
    account: Account,
    times: Convergence,
    first_sent_unix_ms: u64,
    ended: Ended,
    steps: Done,
}

impl Loaded {
    /// How the creation and each step ended.
    fn ends(&self) -> impl Iterator<Item = Ended> {
        let steps = self.steps.records.iter().map(|step| step.ended);
        steps.chain([self.ended])
    }

    fn stopped(&self) -> bool {
        self.ends().any(|ended| ended == Ended::Stopped)
    }
}

pub fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    means::runtime()?.block_on(load(args))
}

async fn load(args: RunArgs) -> anyhow::Result<ExitCode> {
    let workload = workload::named(args.workload.as_deref(), None).map_err(Usage::of)?;
    Objects::of(&workload, args.count as usize).check(args.max_objects)?;
    let target = Target::choose(&args.target).await?;
    if !args.dry_run {
        target.may_be_touched(args.target.yes)?;
    }
    let stop = Interrupt::on_signals().context("cannot listen for Ctrl-C")?;
    let run = run_id::new();
    let namespace = args.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| run_id::namespace(&run));
    let scenario = workload.scenario.clone().of_run(&run, &namespace);
    let mut load = ClusterRun {
        cluster: Cluster::of(target.config.clone())?,
        scenario: Arc::new(scenario.of_shard(args.shard.unwrap_or_default())),
        workload,
        progress: Arc::default(),
        args,
        run,
        target,
        stop: stop.clone(),
        operator: None,
        pods: Pods::Unknown,
    };
    if load.args.dry_run {
        let tried = stop.or(load.dry_run()).await;
        return tried.unwrap_or(Ok(ExitCode::from(130)));
    }
    if !stop.or(load.prepare()).await.unwrap_or(Ok(false))? {
        load.progress.say("nothing was created");
        return Ok(ExitCode::from(130));
    }
    load.offer().await
}

impl ClusterRun {
    /// Creates the objects, waits, cleans up, and prints the account.
    async fn offer(&self) -> anyhow::Result<ExitCode> {
        let namespace = &self.scenario.resource.namespace;
        let labels = [(RUN_LABEL, self.run.as_str())];
        if let Err(error) = self.cluster.make_namespace(namespace, &labels).await {
            anyhow::bail!(
                "cannot create namespace {namespace}: {}; choose one that exists with --namespace",
                error.words()
            );
        }
        let journal = Arc::new(Journal::of(self.objects()));
        let fixtures = &self.workload.fixtures;
        let made = fixtures::create(&self.cluster, fixtures, namespace, Some(&self.run)).await;
        if let (Ok(()), Some(operator)) = (&made, &self.operator) {
            operator.begin(&self.progress).await;
        }
        let standing_in = self.stand_in();
        let loaded = match made {
            Ok(()) => self.offered(&journal).await,
            Err(error) => Err(error.into()),
        };
        if loaded.as_ref().is_ok_and(Loaded::stopped) {
            self.progress.say(&format!(
                "stopping; cleaning up first. Press Ctrl-C again to skip that, and clean up later with: {}",
                self.clean_command()
            ));
        }
        let watched = match &self.operator {
            Some(operator) => Some(operator.end().await),
            None => None,
        };
        // Objects are removed also after an error.
        let cleaned = if self.args.keep {
            None
        } else {
            Some(self.clean_up().await)
        };
        drop(standing_in);
        self.progress.finish();
        let record = self.record(&journal, loaded?, cleaned.as_ref(), watched);
        match self.args.json {
            true => println!("{}", serde_json::to_string(&record)?),
            false => print!("{}", record.text(&self.clean_command())),
        }
        Ok(match record.ended {
            Ended::Stopped => ExitCode::from(130),
            _ => exit_code(record.is_sound()),
        })
    }

    /// What removes the objects of this run.
    fn clean_command(&self) -> String {
        let (workload, target) = (self.args.workload.as_deref(), &self.args.target);
        command_line::clean(&self.run, workload, Some(target))
    }

    fn record(
        &self,
        journal: &Journal,
        loaded: Loaded,
        cleaned: Option<&CleanUp>,
        operator: Option<Watched>,
    ) -> RunRecord {
        let timeline = journal.timeline();
        let Loaded {
            account,
            times,
            first_sent_unix_ms,
            ended,
            steps,
        } = loaded;
        let last = steps.records.last().map_or(ended, |step| step.ended);
        RunRecord {
            format: record::FORMAT,
            loadgen: env!("TARE_VERSION").into(),
            workload: self.workload.name.clone(),
            cluster: self.target.url.clone(),
            run: self.run.clone(),
            shard: self.shard(),
            seed: self.args.seed,
            count: self.args.count,
            rate: self.args.rate.clone(),
            first_sent_unix_ms,
            account: Account {
                // Of the steps, too.
                failures: timeline.failures.clone(),
                disturbances: timeline.disturbances.clone(),
                watch_restarts: timeline.watch_restarts,
                watch_error: timeline.last_watch_error.clone(),
                removal: cleaned.map(Removal::of),
                deleted_by_steps: steps.deleted,
                ..account
            },
            times,
            ended: if ended == Ended::Converged {
                last
            } else {
                ended
            },
            steps: steps.records,
            operator,
            own_peak_bytes: tare_procstat::peak_bytes(std::process::id()).ok(),
        }
    }

    fn shard(&self) -> Shard {
        self.args.shard.unwrap_or_default()
    }

    /// Objects of this shard.
    fn objects(&self) -> usize {
        self.shard().share_of(self.args.count as usize)
    }

    /// How long the objects are left alone before they are removed.
    fn idle(&self) -> Duration {
        let wanted = match (&self.operator, &self.args.operator) {
            (Some(operator), _) => operator.idle(),
            // Another shard measures it.
            (None, Some(_)) => operator::IDLE,
            (None, None) => Duration::ZERO,
        };
        self.args.idle_s.map_or(wanted, Duration::from_secs)
    }

    fn pace(&self) -> Pace {
        Pace::of_shards(self.args.rate.as_ref(), self.shard().of)
    }

    /// What is created, changed and deleted.
    fn load(&self, journal: &Arc<Journal>) -> Load {
        Load {
            rejected: self.rejected(),
            seed: self.args.seed,
            deadline: self.args.deadline_s.map(Duration::from_secs),
            run: Some(self.run.clone()),
            shards: self.shard().of,
            progress: Arc::clone(&self.progress),
            stop: self.stop.clone(),
            ..Load::new(
                self.cluster.clone(),
                Arc::clone(&self.scenario),
                Arc::clone(journal),
            )
        }
    }

    /// The same objects as they are not accepted or not made.
    fn rejected(&self) -> Option<Arc<Scenario>> {
        let rejected = self.workload.rejected.clone()?;
        let rejected = rejected.of_run(&self.run, &self.scenario.resource.namespace);
        let rejected = rejected.of_shard(self.shard());
        Some(Arc::new(match self.pods {
            Pods::NotAsked => rejected.without_pods(),
            _ => rejected,
        }))
    }

    /// Creates the objects, and does the steps of the workload.
    async fn offered(&self, journal: &Arc<Journal>) -> anyhow::Result<Loaded> {
        let convergence_of = &self.workload.convergence;
        let observing = Observer::all(&self.cluster, &self.scenario, convergence_of, journal);
        let observing = observing.map_err(anyhow::Error::msg)?;
        // Nothing is kept of a wave but its record, however many there are.
        journal.timeline().forgets_ended = true;
        let mut host = OnCluster {
            run: self,
            load: self.load(journal),
            hinted: false,
        };
        let open = host.load.watches_are_open(observing.len()).await;
        open.map_err(anyhow::Error::msg)?;
        let pace = self.pace();
        let created = objects::create(&mut host, 0..self.objects(), pace.clone()).await;
        let ended = created.map_err(anyhow::Error::msg)?;
        let mut loaded = {
            let timeline = journal.timeline();
            Loaded {
                account: Account::of(&timeline, None),
                times: convergence(&timeline, &pace),
                first_sent_unix_ms: record::first_sent_unix_ms(journal.began(), &timeline),
                ended,
                steps: Done::default(),
            }
        };
        if ended == Ended::Converged {
            loaded.steps = host.steps().await;
        }
        if loaded.stopped() {
            return Ok(loaded);
        }
        if loaded.ends().any(|ended| ended != Ended::Converged) {
            let index = look::first(&journal.timeline());
            loaded.account.look =
                look::lines(&self.cluster, &self.scenario, convergence_of, index).await;
        }
        let idle = self.idle();
        if !idle.is_zero() && host.load.rest(idle).await == Ended::Stopped {
            loaded.ended = Ended::Stopped;
        }
        Ok(loaded)
    }

    async fn clean_up(&self) -> CleanUp {
        let resources = self.scenario.resources();
        let scopes = resources.iter().map(|resource| Scope {
            resource,
            made: Made::Offered,
            stall: Duration::from_secs(cleanup::STALL_S),
            namespace: Some(&resource.namespace),
            run: Some(&self.run),
        });
        let scopes: Vec<Scope<'_>> = scopes.collect();
        let fixtures = &self.workload.fixtures;
        let fixtures =
            fixtures::to_remove(&self.cluster, fixtures, &self.scenario.resource.namespace);
        let (kinds, problem) = match fixtures.await {
            Ok(kinds) => (kinds, None),
            Err(error) => (Vec::new(), Some(format!("fixtures: {}", error.words()))),
        };
        let mut cleaned = cleanup::run(&self.cluster, &scopes, &kinds, &self.progress).await;
        cleaned.warnings.extend(problem);
        cleaned
    }
}
