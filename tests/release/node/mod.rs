//! The shipped operator on a real node: its scratch image in a pod with the restricted profile and the
//! shipped limit, roles and account; EdgeApps become real pods.
//!
//! Needs root, containerd, runc, the CNI plugins, a C compiler, `loadgen control-plane build --node`
//! and the image (`just image`); `just node-test` builds the last two. The chart needs Helm (`scripts/helm.sh`). Where one is missing, the tests are
//! ignored, with a line that names it. All scenarios share one node and run one at a time; each begins
//! by installing the shipped manifest. Logs are kept in `target/tmp/logs/node`.

mod change;
mod chart;
mod check;
#[path = "../../shared/example.rs"]
mod example;
mod image;
mod install;
mod ipv6;
mod memory;
mod removal;
mod test_node;
mod tour;
mod work;

use std::sync::Arc;

use controlplane::node::IpFamily;
use controlplane::shared::Shared;
use futures::future::BoxFuture;
use libtest_mimic::{Failed, Trial};

use crate::helm;
use test_node::{Needs, TestNode};

type Scenario = (&'static str, for<'a> fn(&'a TestNode) -> BoxFuture<'a, ()>);

macro_rules! scenarios {
    ($($file:ident::$name:ident),+ $(,)?) => {
        &[$((stringify!($name), |test_node| Box::pin($file::$name(test_node)))),+]
    };
}

/// The scenario that removes everything comes last of those that apply the manifest.
const SCENARIOS: &[Scenario] = scenarios![
    install::as_shipped_it_runs_restricted_and_within_its_limit,
    install::its_roles_allow_what_it_does_and_nothing_else,
    work::edgeapps_become_pods_and_status_follows,
    work::a_deleted_pod_comes_back,
    work::a_killed_operator_goes_on_where_it_was,
    memory::an_out_of_memory_kill_is_seen_and_survived,
    change::a_newer_install_and_back_restarts_no_child,
    check::the_verdict_is_that_it_works,
    tour::a_log_is_followed_and_a_container_entered,
    removal::in_the_documented_order_nothing_is_left,
];
/// Those that need Helm.
const OF_THE_CHART: &[Scenario] =
    scenarios![chart::a_release_works_changes_and_leaves_the_edgeapps];

/// # Errors
/// The runtime of the node cannot be built.
pub fn trials() -> std::io::Result<Vec<Trial>> {
    let needs = Needs::find();
    if let Err(reason) = &needs {
        eprintln!("ignored, all tests on a node: {reason}");
    }
    if let Err(reason) = helm::find() {
        eprintln!("ignored, the chart on a node: {reason}");
    }
    let needs = needs.ok();
    let ignored = needs.is_none();
    let for_ipv6 = needs.clone();
    let shared = Shared::new(move || {
        let needs = needs.clone();
        async move {
            let needs = needs.ok_or("something is missing")?;
            TestNode::start(&needs, "node", IpFamily::V4).await
        }
    })?;
    let shared = Arc::new(shared);
    let trial = |&(name, scenario): &Scenario, ignored: bool| {
        let shared = Arc::clone(&shared);
        let run = move || {
            let run = async |test_node: &TestNode| scenario(test_node).await;
            shared.alone(run).map_err(Failed::from)
        };
        Trial::test(format!("node::{name}"), run).with_ignored_flag(ignored)
    };
    let applied = SCENARIOS.iter().map(|one| trial(one, ignored));
    let without_helm = ignored || helm::find().is_err();
    let of_the_chart = OF_THE_CHART.iter().map(|one| trial(one, without_helm));
    let of_ipv6 = move || ipv6::it_is_probed_and_works(for_ipv6.as_ref());
    let of_ipv6 = Trial::test("node::with_ipv6_alone_it_is_probed_and_works", of_ipv6);
    let of_ipv6 = of_ipv6.with_ignored_flag(ignored);
    Ok(applied.chain(of_the_chart).chain([of_ipv6]).collect())
}
