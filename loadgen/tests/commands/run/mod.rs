//! `loadgen run` and `loadgen clean` against the simulated server on loopback: every object is
//! accounted for, and nothing is left behind, however it ends.
//!
//! What needs an operator uses the `tare` binary of the same build and is listed as ignored where
//! that was not built (`cargo build -p tare`; `cargo test --workspace` builds it).

mod bad_workloads;
mod bystanders;
mod clean;
mod convergence;
mod killed;
mod memory;
mod operator;
mod permissions;
mod proxy;
mod shards;
mod simulated_cluster;
mod steps;
mod unusable;
mod workloads;

use std::process::Output;

use libtest_mimic::Trial;
use simulated_cluster::{stderr, stdout, tare};

type Scenario = fn();

const WITHOUT_OPERATOR: [(&str, Scenario); 45] = [
    (
        "a_server_on_this_machine_is_reached_without_a_proxy",
        proxy::of_the_environment,
    ),
    (
        "the_proxy_of_a_kubeconfig_is_used",
        proxy::of_the_kubeconfig,
    ),
    (
        "a_missing_crd_is_one_line_that_says_how_to_install_it",
        unusable::missing_crd,
    ),
    (
        "a_context_that_is_not_local_is_rejected_unasked",
        unusable::not_local,
    ),
    (
        "unusable_kubeconfigs_are_one_line",
        unusable::unusable_kubeconfigs,
    ),
    ("a_server_that_is_gone_is_one_line", unusable::server_gone),
    (
        "more_objects_than_the_user_permits_are_refused_before_any_is_created",
        unusable::too_many_objects,
    ),
    (
        "a_dry_run_says_what_would_be_created_and_creates_nothing",
        unusable::dry_run,
    ),
    (
        "objects_are_offered_at_a_rate_that_changes",
        convergence::at_a_rate_that_changes,
    ),
    (
        "without_an_operator_there_is_a_hint_and_all_is_censored",
        convergence::no_operator,
    ),
    (
        "answers_of_an_overloaded_or_failing_server_are_a_disturbance_and_no_rejection",
        convergence::disturbed,
    ),
    (
        "clean_removes_one_run_and_nothing_of_others",
        clean::clean_one_run,
    ),
    (
        "the_command_that_a_run_prints_removes_what_it_kept",
        clean::as_printed,
    ),
    (
        "a_clean_up_counts_no_objects_of_another_workload",
        clean::of_another_workload,
    ),
    (
        "two_signals_at_once_are_one_request_to_stop",
        convergence::two_signals_at_once,
    ),
    ("a_finalizer_that_nobody_serves_is_named", clean::held_up),
    (
        "a_workload_without_an_operator_converges",
        workloads::configmaps,
    ),
    (
        "fixtures_are_there_before_the_objects_and_go_after_them",
        workloads::fixtures,
    ),
    (
        "a_fixture_that_is_there_already_stays",
        workloads::fixture_of_others,
    ),
    (
        "a_fixture_that_is_not_served_is_one_line_and_nothing_is_left",
        workloads::unserved_fixture,
    ),
    (
        "objects_of_several_kinds_are_accounted_for_together",
        workloads::several_kinds,
    ),
    (
        "a_bad_workload_is_one_line_with_its_place_and_leaves_nothing",
        bad_workloads::every_kind_is_one_line_and_leaves_nothing,
    ),
    (
        "a_missing_permission_is_one_line_with_whom_to_ask",
        permissions::without_permission,
    ),
    (
        "who_may_not_make_a_namespace_uses_one_that_is_there",
        permissions::namespace_of_others,
    ),
    (
        "lint_tries_each_fixture_whose_namespace_is_there",
        workloads::lint_fixtures,
    ),
    ("lint_tries_an_object_and_creates_nothing", workloads::lint),
    ("lint_reads_the_file_of_a_subject", workloads::lint_subject),
    (
        "an_operator_in_the_cluster_is_measured_and_its_source_is_named",
        operator::measured,
    ),
    (
        "an_operator_that_is_killed_for_memory_is_noticed",
        operator::killed_for_memory,
    ),
    (
        "an_operator_that_cannot_be_measured_is_one_line_and_nothing_is_created",
        operator::not_measurable,
    ),
    (
        "a_namespace_goes_with_the_config_map_that_every_namespace_has",
        workloads::added_by_the_cluster,
    ),
    (
        "the_steps_of_a_workload_are_done_one_after_the_other",
        steps::one_after_the_other,
    ),
    (
        "objects_are_recreated_deleted_and_created_anew",
        steps::recreate_and_delete,
    ),
    (
        "objects_that_a_step_deletes_are_not_called_deleted_by_others",
        steps::delete_at_the_end,
    ),
    (
        "objects_fail_for_a_while_and_get_their_values_back",
        steps::fault,
    ),
    (
        "a_step_restarts_the_operator_and_that_disturbs_nothing",
        steps::restart,
    ),
    (
        "a_step_that_nobody_has_permitted_is_one_line_and_nothing_is_created",
        steps::not_permitted,
    ),
    (
        "objects_of_others_are_made_changed_and_removed",
        bystanders::objects_of_others_are_made_changed_and_removed,
    ),
    (
        "a_part_of_the_objects_is_recreated_and_the_others_stay",
        bystanders::a_part_of_the_objects_is_recreated_and_the_others_stay,
    ),
    (
        "nothing_is_left_wherever_a_run_is_killed",
        killed::nothing_is_left_wherever_a_run_is_killed,
    ),
    (
        "a_clean_up_that_is_killed_is_done_by_the_next_one",
        killed::a_clean_up_that_is_killed_is_done_by_the_next_one,
    ),
    ("shards_of_a_run_count_as_one_run", shards::as_one_run),
    ("a_shard_that_cannot_be_is_one_line", shards::bad_shards),
    (
        "pods_of_an_indexed_job_are_the_shards_of_a_run",
        shards::of_an_indexed_job,
    ),
    (
        "loadgen_stands_in_for_what_a_local_cluster_lacks",
        workloads::stand_in,
    ),
];

const WITH_OPERATOR: [(&str, Scenario); 5] = [
    ("a_run_converges_and_leaves_nothing", convergence::converges),
    ("rejected_creates_are_accounted_for", convergence::rejected),
    ("ctrl_c_midway_cleans_up", convergence::ctrl_c),
    ("clean_removes_what_a_killed_run_left", clean::killed_run),
    (
        "children_that_a_step_deletes_are_made_anew",
        steps::delete_children,
    ),
];

/// Ignored, because it takes a minute or more: `cargo test -p loadgen --test commands -- --ignored 100,000`.
const SLOW: [(&str, Scenario); 1] = [(
    "loadgen_needs_less_than_200_mb_for_100,000_objects",
    memory::of_many_objects,
)];

pub fn trials() -> Vec<Trial> {
    let operator_is_missing = tare().is_none();
    if operator_is_missing {
        eprintln!(
            "ignored: what needs an operator, because tare was not built; cargo build -p tare"
        );
    }
    let listed = |scenarios: &[(&str, Scenario)], ignored: bool| {
        let trial = |(name, scenario): &(&str, Scenario)| {
            crate::trial(&format!("run::{name}"), *scenario, ignored)
        };
        scenarios.iter().map(trial).collect::<Vec<_>>()
    };
    let mut trials = listed(&WITHOUT_OPERATOR, false);
    trials.extend(listed(&WITH_OPERATOR, operator_is_missing));
    trials.extend(listed(&SLOW, true));
    trials
}

/// The figure beside a label of the account.
fn figure(text: &str, label: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.trim().starts_with(label))?;
    line.split_whitespace()
        .last()?
        .replace(',', "")
        .parse()
        .ok()
}

fn assert_figures(output: &Output, want: &[(&str, u64)]) {
    let text = stdout(output);
    for (label, count) in want {
        assert_eq!(
            figure(&text, label),
            Some(*count),
            "{label}: {text}{}",
            stderr(output)
        );
    }
}

/// Runs of the namespaces on the server, as they are in the namespaces' names.
fn run_of(output: &Output) -> String {
    let said = stderr(output);
    let line = said.lines().find_map(|line| line.strip_prefix("run "));
    let run = line.and_then(|line| line.split(':').next());
    run.unwrap_or_else(|| panic!("no run in {said}")).to_owned()
}
