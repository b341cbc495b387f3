//! `loadgen bench` end to end, with mock subjects in place of operators: what works is measured,
//! what fails is reported, what is stopped leaves nothing behind and goes on.
//!
//! What needs the operators of `examples/` is listed as ignored where they were not built (`cargo test --workspace`
//! builds them). What needs a real control plane is listed as ignored where none was built (`loadgen
//! control-plane build`).

mod bench_folder;
mod bystanders;
mod disturbed;
mod envelope;
mod evidence;
mod examples;
mod existing;
mod files_alone;
mod in_pod;
mod interrupted;
mod outside;
mod real;
mod restarts;
mod whole;
mod workload;

use controlplane::Binaries;
use libtest_mimic::Trial;

use crate::trial;

type Scenario = (&'static str, fn());

/// Names of functions, as the harness of Rust would list them.
macro_rules! scenarios {
    ($($room:ident::$name:ident),* $(,)?) => {
        &[$((concat!("bench::", stringify!($room), "::", stringify!($name)), $room::$name as fn())),*]
    };
}

const SIMULATED: &[Scenario] = scenarios![
    bystanders::what_a_secret_of_somebody_else_costs_is_told_for_each_kind,
    bystanders::a_start_that_fails_is_a_line_and_exit_code_1,
    whole::a_tiny_bench_ends_with_a_report_that_can_be_rebuilt,
    whole::subjects_that_die_or_hang_are_failed_runs_with_their_log_tail,
    whole::a_subject_that_fails_the_conformance_scenario_is_not_measured,
    whole::a_full_disk_is_one_line_and_leaves_nothing_that_looks_whole,
    whole::a_subject_beside_itself_gives_the_noise_floor,
    whole::several_runs_may_be_under_way_at_once,
    whole::a_subject_that_ends_at_each_start_is_given_up_after_three_runs,
    whole::a_subject_behind_a_wrapper_is_measured_with_all_it_starts,
    evidence::what_was_read_beside_a_run_is_kept,
    existing::a_namespace_of_a_cluster_is_used_and_cleaned_up,
    existing::what_a_killed_bench_left_is_found_by_its_label,
    existing::a_cluster_that_is_not_on_this_machine_needs_a_yes,
    existing::a_tunnel_on_loopback_needs_a_yes,
    existing::its_options_go_with_no_other_control_plane,
    outside::a_shipped_workload_is_measured_in_an_empty_folder,
    outside::a_cluster_is_given_load_from_an_empty_folder,
    outside::the_worked_example_of_the_documentation_is_measured,
    outside::an_operator_of_ones_own_is_measured_with_three_commands,
    outside::what_needs_sources_is_refused_with_the_ways_out,
    files_alone::an_operator_of_files_alone_is_benched_run_checked_and_reported,
    restarts::every_restart_is_recorded_with_what_it_costs_the_server,
    restarts::a_subject_that_does_not_say_when_it_is_ready_is_ready_when_it_observes_a_new_object,
    restarts::a_standby_has_started_when_it_works,
    restarts::a_restart_that_fails_keeps_the_figures_before_it,
    workload::a_kind_of_somebody_elses_is_measured_from_files_alone,
    workload::several_kinds_are_measured_in_one_workload,
    workload::without_an_operator_the_api_server_alone_is_measured,
    workload::a_kind_that_is_not_simulated_names_a_control_plane_that_has_it,
    workload::foreign_objects_are_counted_in_the_memory_of_the_subject,
];

/// They need `/proc`.
const PROCESSES: &[Scenario] = scenarios![
    envelope::the_most_objects_within_a_memory_limit_are_found,
    envelope::the_highest_rates_within_a_cpu_limit_are_found,
    disturbed::a_disturbed_run_of_the_quick_profile_has_a_mark_and_a_sentence,
    in_pod::a_subject_with_the_credentials_of_a_pod_is_measured,
    interrupted::ctrl_c_keeps_what_was_measured_and_leaves_nothing_running,
    interrupted::a_killed_bench_takes_its_processes_with_it,
    interrupted::a_killed_bench_goes_on_where_it_was,
    interrupted::a_bench_that_is_killed_at_ten_points_goes_on_each_time,
    restarts::ctrl_c_ends_everything_that_was_started,
];

const EXAMPLES: &[Scenario] = scenarios![
    examples::webapp_is_benched_reported_checked_and_run,
    examples::echo_is_benched_reported_checked_and_run,
    examples::myservice_is_benched_reported_checked_and_run,
    examples::inference_service_is_benched_reported_checked_and_run,
];

const REAL: &[Scenario] = scenarios![
    interrupted::a_killed_bench_on_a_real_control_plane_goes_on_where_it_was,
    outside::a_control_plane_is_found_by_its_variable,
    real::requests_are_counted_in_runs_of_their_own,
    real::the_same_on_kine,
    files_alone::the_api_server_is_restarted_by_a_step_of_the_workload,
    restarts::a_real_api_server_tells_what_a_restart_made_it_read,
];

pub fn trials() -> Vec<Trial> {
    let no_proc = !cfg!(target_os = "linux");
    let built = Binaries::find();
    if let Err(missing) = &built {
        eprintln!("ignored: what needs a real control plane: {missing}");
    }
    let example_is_missing = examples::missing();
    if let Some(missing) = &example_is_missing {
        eprintln!(
            "ignored: the examples, because {} was not built; cargo build -p tare --examples",
            missing.display()
        );
    }
    // The longest first.
    let groups = [
        (REAL, built.is_err() || no_proc),
        (SIMULATED, false),
        (EXAMPLES, example_is_missing.is_some() || no_proc),
        (PROCESSES, no_proc),
    ];
    let listed = |(scenarios, ignored): (&'static [Scenario], bool)| {
        let all = scenarios.iter();
        all.map(move |(name, scenario)| trial(name, *scenario, ignored))
    };
    groups.into_iter().flat_map(listed).collect()
}
