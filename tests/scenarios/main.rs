//! The scenarios of the operator: each a story, written once, on every cluster that it can run on.
//!
//! - `simulated::MODE::…`: kubesim and the operator in this process, on paused time, in each cache mode.
//! - `kube::MODE::…`, `kine::none::…`: kube-apiserver on etcd or kine, `tare` as a process under the
//!   shipped service account with the role of `deploy/install.yaml`.
//! - `kube::without_VERB_RESOURCE::…`: a scenario under that role with one permission less
//!   (`permission_table`).
//! - `shipped::…`: `deploy/` as a cluster's administrator uses it, on a control plane of its own with
//!   the real controllers of Pods.
//! - `objects::…`: generated objects and edits ([`objects`]); `overload::…`: overload and hostile networks ([`overload`]).
//!
//! A scenario that needs what a cluster does not have is listed there as ignored, with what it needs in
//! brackets. Without the binaries of a control plane (`loadgen control-plane build`) the tests on real
//! clusters are ignored. Each control plane starts with the first test that needs it; each scenario has
//! a namespace and an operator of its own. Logs are kept in `target/tmp/logs`.
//!
//! `cargo test -p tare --test scenarios -- simulated::none::drift` runs the tests with that in the name.

#![allow(clippy::unwrap_used)] // a scenario that meets an unexpected value fails

mod admission;
mod alerts;
mod authors;
mod beyond;
mod broken;
mod built_in;
mod burst;
mod cache_modes;
mod cluster;
mod conflicts;
mod deletion;
mod drift;
mod elsewhere;
mod examples;
mod failing;
mod fields;
mod foreign;
mod forms;
mod kubectl;
mod leader;
mod lifecycle;
mod namespaces;
mod objects;
mod optional_kinds;
mod outage;
mod overlays;
mod overload;
mod periods;
mod permission_table;
mod permissions;
mod places;
mod policies;
mod referring;
mod relists;
mod restored;
mod rollouts;
mod shards;
mod shipped;
mod spec;
mod statuses;
mod suite;
mod telling;
mod told;
mod tour;
mod unplanned;
mod watches;

use std::process::ExitCode;

use examples::{
    cache, certificates, echo, external_secrets, inference_service, myservice,
    namespaces as quotas, tenant, webapp,
};
use libtest_mimic::{Arguments, Conclusion, Failed, Trial};
use suite::{Scenario, Story};

/// More than processors: scenarios on a real cluster mostly wait for it.
const THREADS: usize = 8;

/// A story of both kinds of cluster, of one of them with what it needs there, or of none.
macro_rules! scenario {
    (anywhere $noun:ident::$name:ident) => {
        Scenario::new(
            stringify!($noun),
            stringify!($name),
            Story::Anywhere(|cluster| Box::pin($noun::$name(cluster))),
        )
    };
    (simulated $needs:literal $noun:ident::$name:ident) => {
        Scenario::new(
            stringify!($noun),
            stringify!($name),
            Story::Simulated($needs, |mode| Box::pin($noun::$name(mode))),
        )
    };
    (real $needs:literal $noun:ident::$name:ident) => {
        Scenario::new(
            stringify!($noun),
            stringify!($name),
            Story::Real($needs, |cluster| Box::pin($noun::$name(cluster))),
        )
    };
    (pure $noun:ident::$name:ident) => {
        Scenario::new(
            stringify!($noun),
            stringify!($name),
            Story::Pure($noun::$name),
        )
    };
}

/// The slowest first.
#[rustfmt::skip]
const SCENARIOS: &[Scenario] = &[
    scenario!(simulated "needs 50,000 objects" admission::fifty_thousand_failing_objects_stay_within_the_bounds).storeless(),
    scenario!(anywhere burst::three_hundred_at_once_cost_four_writes_each_at_most_and_no_read).on_kine(),
    scenario!(anywhere burst::an_edgeapp_near_the_largest_size_works_beside_small_ones).on_kine(),
    scenario!(anywhere burst::two_operators_at_once_do_no_harm),
    scenario!(anywhere burst::killed_repeatedly_in_a_burst).on_kine(),
    scenario!(anywhere burst::terminated_in_a_burst_it_ends_in_time),
    scenario!(anywhere broken::an_undecodable_and_a_panicking_object_among_a_thousand),
    scenario!(simulated "needs an hour" burst::converged_owners_need_no_entry_and_no_write_for_an_hour),

    scenario!(anywhere drift::what_changed_while_the_operator_was_down_is_found_at_its_start).on_kine(),
    scenario!(anywhere drift::an_edited_child_is_set_back_and_what_others_add_stays).on_kine(),
    scenario!(anywhere drift::a_deleted_child_comes_back).on_kine(),
    scenario!(anywhere drift::a_service_whose_selector_is_edited_repeatedly_is_set_back_each_time),
    scenario!(anywhere drift::a_key_that_somebody_adds_to_a_selector_is_removed),
    scenario!(anywhere fields::another_order_of_variables_is_written_and_a_foreign_one_is_set_back),
    scenario!(anywhere fields::what_others_put_into_a_container_and_a_port_stays),
    scenario!(anywhere policies::images_that_a_policy_rewrites_are_rolled_out_and_others_are_set_back),
    scenario!(anywhere fields::a_volume_becomes_an_empty_dir),
    scenario!(anywhere fields::what_leaves_the_plan_of_a_container_goes),
    scenario!(anywhere fields::a_child_made_again_from_an_edited_copy_is_ours_again),
    scenario!(anywhere fields::zeros_and_large_numbers_of_a_custom_kind_are_written_and_set_back),
    scenario!(real "needs PodDisruptionBudgets" fields::a_budget_that_loses_its_zero_gets_it_back),
    scenario!(simulated "needs hours" fields::a_child_without_its_mark_is_written_with_the_next_difference_only),
    scenario!(simulated "needs hours" fields::a_child_without_managed_fields_is_compared_field_by_field),
    scenario!(simulated "needs an operator of its own" forms::what_the_server_stores_in_another_form_is_no_drift),
    scenario!(simulated "needs an operator of its own" forms::what_only_the_server_knows_to_be_the_same_costs_no_patch),
    scenario!(simulated "needs an operator of its own" forms::a_thousand_objects_in_other_forms_cost_no_patch),
    scenario!(simulated "needs an operator of its own" forms::annotations_of_a_deployment_are_set_back_while_its_owner_waits),
    scenario!(simulated "needs an operator of its own" forms::a_typo_in_a_plan_is_refused_and_told),
    scenario!(simulated "needs Deployments that are never ready" drift::labels_of_a_deployment_are_set_back_while_its_owner_waits),
    scenario!(simulated "needs counts request by request" drift::child_events_of_an_idle_owner_are_handled_together),

    scenario!(anywhere statuses::a_status_that_another_client_writes_is_set_back),
    scenario!(simulated "delays requests" statuses::a_status_that_has_yielded_is_written_after_a_harmless_change_of_a_child),
    scenario!(simulated "needs twenty minutes" statuses::pauses_grow_where_another_client_writes_the_status_each_time),

    scenario!(real "needs the namespace controller" namespaces::a_terminating_namespace_is_left_to_end).on_kine(),
    scenario!(real "needs the namespace controller" namespaces::a_terminating_namespace_is_no_missing_permission),

    scenario!(real "needs kubectl" kubectl::in_the_hands_of_kubectl).on_kine().kubectl(),
    scenario!(real "needs kubectl" tour::the_tour_of_the_client).on_kine().kubectl().storeless(),
    scenario!(real "needs kubectl" tour::pods_are_shown_as_kubectl_shows_them).on_kine().kubectl().storeless(),

    scenario!(anywhere lifecycle::an_edgeapp_becomes_ready_with_its_children).on_kine(),
    scenario!(simulated "needs Deployments that never become ready" lifecycle::an_edgeapp_is_observed_after_its_children_exist_and_before_they_are_ready),
    scenario!(anywhere lifecycle::nothing_is_written_for_a_deleted_edgeapp_and_its_children_go_after_it).on_kine(),
    scenario!(anywhere lifecycle::deletion_needs_no_operator),
    scenario!(anywhere lifecycle::an_edgeapp_of_0_1_0_is_freed_of_its_finalizer),
    scenario!(anywhere lifecycle::a_retired_finalizer_of_a_converged_edgeapp_costs_one_write),
    scenario!(anywhere lifecycle::orphaned_children_stay),
    scenario!(anywhere lifecycle::deleted_and_created_again_under_the_same_name),
    scenario!(simulated "needs a pause in a relist" lifecycle::deleted_and_created_again_under_the_same_name_during_a_relist),
    scenario!(anywhere lifecycle::bad_input_is_refused_with_what_is_wrong),
    scenario!(real "needs the program" lifecycle::the_revision_of_the_crd_is_known),

    scenario!(simulated "needs an operator of its own" deletion::a_crash_between_any_two_steps_of_a_deletion_loses_no_cleanup),
    scenario!(simulated "needs requests without an answer" deletion::a_child_whose_creation_was_not_answered_goes_before_the_finalizer),
    scenario!(simulated "needs an operator of its own" deletion::a_crash_during_a_cleanup_repeats_it),
    scenario!(simulated "needs an operator of its own" deletion::a_broken_owner_is_deleted_after_its_children_and_its_cleanup),
    scenario!(simulated "needs another CRD" deletion::an_owner_that_cannot_be_decoded_is_deleted_after_its_children_and_its_cleanup),
    scenario!(simulated "needs another CRD" deletion::a_status_with_an_unknown_value_is_written_anew),
    scenario!(simulated "needs an operator of its own" deletion::a_cleanup_that_fails_is_repeated_until_it_succeeds),
    scenario!(simulated "needs an operator of its own" deletion::an_owner_with_the_finalizer_of_an_earlier_version_has_its_cleanup),

    scenario!(simulated "needs an operator of its own" unplanned::children_that_leave_the_plan_go),
    scenario!(simulated "needs an operator of its own" unplanned::an_owner_whose_name_no_label_can_hold_is_relisted_with_the_others),
    scenario!(simulated "needs an operator for one selector" shards::a_change_of_a_child_makes_only_its_own_shard_write),
    scenario!(simulated "needs an operator of its own" unplanned::a_child_that_leaves_the_plan_while_the_operator_is_down_goes),
    scenario!(simulated "needs an operator of its own" unplanned::a_crash_before_a_child_that_left_the_plan_is_deleted_does_not_keep_it),
    scenario!(simulated "needs requests that hang" unplanned::a_child_of_a_first_attempt_that_a_crash_ended_goes_with_a_spec_without_it),
    scenario!(simulated "needs spoiled answers" unplanned::a_child_that_left_the_plan_and_is_not_shown_legibly_goes_within_ten_minutes),
    scenario!(simulated "needs refused requests" unplanned::an_owner_that_is_deleted_during_the_first_relist_outlives_its_children),
    scenario!(simulated "needs an operator of its own" unplanned::a_child_whose_label_somebody_changed_goes_before_the_finalizer),
    scenario!(simulated "needs changes within a second" unplanned::a_child_that_somebody_makes_again_goes_with_a_spec_without_it),
    scenario!(simulated "needs an operator of its own" unplanned::a_child_of_an_earlier_version_is_found_by_a_start_and_by_its_event),

    scenario!(anywhere spec::scale_image_and_env_follow_the_spec).on_kine(),
    scenario!(anywhere spec::an_immutable_field_recreates_the_service_and_without_a_port_it_is_deleted),
    scenario!(anywhere spec::a_deployment_with_another_selector_is_recreated),
    scenario!(anywhere spec::a_quantity_that_the_server_normalises_is_no_drift),
    scenario!(simulated "needs slow requests" spec::a_newer_spec_that_arrives_during_a_reconcile_wins),
    scenario!(simulated "needs an operator for one selector" spec::only_selected_owners_of_the_chosen_namespace_are_reconciled),

    scenario!(anywhere foreign::a_foreign_deployment_of_the_same_name_survives_us).on_kine(),
    scenario!(anywhere foreign::a_collision_ends_when_the_foreign_object_is_deleted),
    scenario!(simulated "needs an owner whose kind is not installed" foreign::a_namesake_of_another_group_is_a_collision_and_not_waited_for),
    scenario!(simulated "needs two minutes" foreign::a_child_that_was_made_again_after_a_take_over_follows_its_spec),
    scenario!(simulated "needs two minutes" foreign::a_child_that_another_controller_takes_over_is_told_and_made_again),

    scenario!(anywhere foreign::children_that_were_kept_are_adopted_by_the_next_edgeapp),
    scenario!(anywhere foreign::our_labels_alone_make_no_child_of_another_ours),
    scenario!(simulated "needs events that are lost" foreign::an_edgeapp_that_is_going_adopts_nothing),

    scenario!(simulated "needs Deployments that never become ready" rollouts::an_old_pod_that_is_ready_does_not_stand_for_a_new_one),
    scenario!(simulated "needs Deployments that never become ready" rollouts::pods_that_are_refused_are_told_in_the_words_of_the_server),
    scenario!(simulated "needs refused requests" told::a_webhook_that_is_down_is_told_after_the_first_back_off),
    scenario!(simulated "needs refused requests" told::an_error_of_the_server_that_passes_is_not_told),
    scenario!(simulated "needs refused requests" told::an_outage_of_the_server_leaves_no_wave_of_writes),
    scenario!(simulated "needs refused requests" told::a_condition_an_event_and_a_metric_have_one_reason),
    scenario!(simulated "needs another CRD" told::an_owner_with_the_longest_name_has_its_event),
    scenario!(real "needs admission webhooks" told::a_policy_engine_that_is_down_is_told),
    scenario!(anywhere told::an_endpoint_has_the_port_that_answers),

    scenario!(simulated "needs an operator of its own" authors::a_plan_sees_what_a_kind_declares_of_a_status),
    scenario!(simulated "needs an operator of its own" authors::a_paused_owner_is_left_as_it_is_until_it_is_resumed),
    scenario!(simulated "needs an operator of its own" authors::a_label_of_an_owner_plans_it_again),
    scenario!(simulated "needs an operator of its own" authors::a_failure_that_awaits_a_change_ends_with_an_annotation),
    scenario!(simulated "needs an operator of its own" authors::a_failed_status_sees_the_children_in_every_mode),
    scenario!(simulated "needs an operator of its own" authors::conditions_of_another_client_stay),
    scenario!(simulated "needs an operator of its own" beyond::a_plan_follows_what_is_observed_outside),
    scenario!(simulated "needs an operator of its own" beyond::a_plan_follows_what_its_owner_names),
    scenario!(simulated "needs an operator of its own" beyond::a_panic_in_references_is_that_owners_failure_and_nobody_elses),
    scenario!(simulated "needs an operator of its own" authors::a_field_that_left_the_plan_goes_however_children_are_written),
    scenario!(simulated "needs an operator of its own" drift::a_paused_owner_that_differs_is_no_drift),
    scenario!(simulated "needs an operator of its own" referring::a_plan_follows_what_its_owner_selects_by_labels),
    scenario!(simulated "needs an operator of its own" referring::what_is_selected_in_all_namespaces_is_followed_in_all),
    scenario!(simulated "needs an operator of its own" referring::a_selector_that_the_server_refuses_is_that_owners_failure),
    scenario!(simulated "needs an operator of its own" referring::what_owners_refer_to_and_may_not_be_read_is_told_until_it_may),
    scenario!(simulated "needs an operator of its own" referring::a_kind_that_owners_refer_to_may_be_missing),
    scenario!(simulated "needs an operator of its own" telling::what_is_no_fault_is_told_once_for_each_change),
    scenario!(simulated "needs an operator of its own" telling::an_authors_metrics_stand_on_the_page),

    scenario!(simulated "needs an operator of its own" optional_kinds::owners_that_do_not_need_a_missing_kind_are_reconciled),
    scenario!(simulated "needs an operator of its own" optional_kinds::an_owner_that_needs_a_missing_kind_says_so_until_it_is_there),
    scenario!(simulated "needs an operator of its own" optional_kinds::a_kind_that_goes_while_the_operator_runs_stops_no_other),
    scenario!(simulated "needs an operator of its own" optional_kinds::a_planned_child_of_a_kind_that_is_not_declared_is_an_error),
    scenario!(simulated "needs an operator of its own" optional_kinds::a_reference_to_a_kind_that_is_not_declared_is_an_error),

    scenario!(anywhere conflicts::a_field_that_somebody_keeps_changing_back_is_a_field_conflict),
    scenario!(simulated "needs Deployments that are ready at once" conflicts::a_field_conflict_is_told_while_somebody_repeats_the_edit),
    scenario!(simulated "needs Deployments that become ready later" conflicts::a_field_conflict_outlasts_readiness_and_the_field_is_set_back),
    scenario!(simulated "needs minutes" conflicts::a_field_conflict_of_one_child_does_not_hold_up_the_other),
    scenario!(simulated "needs refused requests" conflicts::a_correction_that_met_a_newer_child_is_no_field_conflict),
    scenario!(simulated "needs refused requests" conflicts::a_correction_that_is_refused_repeatedly_is_no_field_conflict),
    scenario!(simulated "needs two clusters and an hour" conflicts::two_operators_end_in_the_same_state_as_one),

    scenario!(anywhere failing::what_the_server_refuses_is_told_once_and_heals),
    scenario!(simulated "needs requests that hang" failing::sixteen_requests_that_hang_do_not_stop_the_others),
    scenario!(simulated "needs requests that hang" failing::large_owners_whose_requests_hang_do_not_delay_a_small_one),
    scenario!(simulated "needs requests that hang" failing::many_owners_whose_requests_hang_do_not_delay_a_healthy_one),
    scenario!(simulated "needs answers that are lost" failing::a_write_whose_answer_is_lost_is_not_done_twice),
    scenario!(simulated "needs refused requests" failing::a_child_that_becomes_ready_while_its_owner_fails_is_known),
    scenario!(simulated "needs answers that break off" failing::an_answer_that_breaks_off_is_requested_again),
    scenario!(simulated "needs events that are lost" periods::the_first_object_of_a_new_crd_that_no_watch_shows_is_found_within_a_minute),
    scenario!(simulated "needs events that are lost" periods::an_owner_created_again_that_only_a_worker_has_met_is_reconciled),
    scenario!(simulated "needs spoiled answers" periods::an_owner_that_a_list_does_not_show_legibly_is_listed_again_within_ten_minutes),
    scenario!(simulated "needs spoiled answers" periods::a_child_that_goes_unseen_while_its_owner_is_listed_illegibly_comes_back),
    scenario!(simulated "needs spoiled answers" periods::an_owner_whose_answer_cannot_be_decoded_is_read_again),
    scenario!(simulated "needs refused requests" periods::a_failure_that_only_a_change_resolves_is_told_although_its_status_was_refused),
    scenario!(simulated "needs other answers" periods::a_status_whose_write_was_executed_and_refused_is_written_again),
    scenario!(simulated "needs other answers" periods::a_status_in_doubt_is_not_replaced_by_an_older_one),
    scenario!(simulated "needs other limits" periods::owners_whose_requeues_do_not_fit_are_compared_within_ten_minutes),
    scenario!(simulated "needs refused requests" failing::a_failure_backs_off_is_told_on_the_object_and_heals),
    scenario!(simulated "needs refused requests" failing::many_failing_objects_stay_within_the_bounds_and_do_not_delay_a_healthy_one),
    scenario!(simulated "needs refused requests" failing::a_server_that_asks_to_wait_is_obeyed),
    scenario!(simulated "needs refused requests" outage::owners_that_waited_through_an_outage_are_ready_soon_after),
    scenario!(simulated "needs requests without an answer" outage::owners_that_failed_in_silence_are_tried_when_a_watch_opens_again),
    scenario!(simulated "needs an operator of its own" failing::a_panic_in_a_plan_is_that_objects_failure_and_nobody_elses),

    scenario!(anywhere permissions::a_missing_permission_is_named_on_the_object),
    scenario!(simulated "needs refused requests" permissions::readyz_names_the_missing_permission_to_read_until_it_is_granted),
    scenario!(simulated "needs refused requests" permissions::a_permission_to_list_that_is_revoked_while_running_is_told),
    scenario!(simulated "needs refused requests" permissions::an_exceeded_quota_is_no_missing_permission),
    scenario!(simulated "needs refused requests" permissions::the_permission_that_an_owner_reference_needs_is_named),
    scenario!(simulated "needs refused requests" permissions::an_owner_kind_that_the_server_does_not_know_yet_is_waited_for),

    scenario!(simulated "needs faults of watch streams" watches::lost_watch_events_and_a_restart_end_in_the_same_state_as_a_calm_run),
    scenario!(simulated "needs faults of watch streams" watches::a_watch_stream_recovers_from_every_fault),
    scenario!(simulated "needs refused requests" watches::repeated_410_answers_relist_with_growing_pauses),
    scenario!(simulated "needs two servers" restored::a_server_restored_from_an_old_backup_is_noticed_when_a_watch_opens),
    scenario!(simulated "needs two servers" restored::a_server_restored_from_an_old_backup_is_noticed_by_a_list),
    scenario!(simulated "needs a server that goes back" restored::a_restored_server_that_has_caught_up_is_noticed_by_a_list),
    scenario!(simulated "needs two servers" restored::work_in_flight_on_a_server_that_is_restored_is_done_again),
    scenario!(simulated "needs slow requests" watches::a_child_that_becomes_ready_before_its_watch_opens_is_not_missed),
    scenario!(simulated "needs five minutes" watches::a_server_that_goes_away_is_waited_for),

    scenario!(real "needs a server that escapes" relists::an_object_larger_than_what_is_read_stops_no_other),
    scenario!(simulated "needs slow requests" relists::what_a_page_shows_of_an_owner_that_was_written_since_is_done),
    scenario!(simulated "needs slow requests" relists::readiness_that_only_a_page_shows_of_an_owner_that_was_written_since_is_told),

    scenario!(simulated "needs counts request by request" cache_modes::work_on_an_idle_owner_reads_what_the_mode_does_not_retain),
    scenario!(simulated "needs counts request by request" cache_modes::a_workload_that_is_no_longer_ready_is_recognised_by_its_event),
    scenario!(simulated "needs counts request by request" cache_modes::a_restart_reads_the_same_pages_and_nothing_else),
    scenario!(simulated "needs an hour" cache_modes::every_owner_that_exists_is_retained_and_no_other),
    scenario!(simulated "needs faults of watch streams" cache_modes::owners_deleted_while_the_watch_lost_events_are_forgotten),

    scenario!(simulated "needs counts request by request" leader::a_standby_is_ready_and_only_reads_the_lease),
    scenario!(simulated "needs counts request by request" leader::a_replica_that_is_killed_is_followed_within_20_s),
    scenario!(simulated "needs counts request by request" leader::a_replica_that_ends_in_order_is_followed_within_3_s),
    scenario!(simulated "needs refused requests" leader::there_is_never_more_than_one_writer),
    scenario!(simulated "needs answers that are lost" leader::an_answer_that_is_lost_does_not_end_a_leader),
    scenario!(simulated "needs counts request by request" leader::a_lease_that_is_deleted_ends_its_holder_before_another_begins),
    scenario!(simulated "needs refused requests" leader::a_standby_without_permission_for_the_lease_says_so),

    scenario!(simulated "needs ten minutes" admission::owners_that_never_become_ready_are_released_after_their_deadline),
    scenario!(simulated "needs other limits" admission::events_that_are_not_admitted_are_found_by_a_relist),
    scenario!(simulated "needs other limits" admission::more_children_fail_at_once_than_are_admitted_and_every_owner_says_so),
    scenario!(simulated "needs other limits" admission::failing_owners_that_were_evicted_are_tried_again),
    scenario!(simulated "needs other limits" admission::owners_that_are_evicted_while_a_list_is_slow_become_ready),
    scenario!(simulated "needs other limits" admission::an_owner_created_again_while_a_worker_has_it_is_not_lost),

    scenario!(anywhere places::an_owner_without_a_namespace_has_children_in_any),
    scenario!(anywhere places::children_elsewhere_are_found_by_label_and_go_under_the_finalizer),
    scenario!(simulated "needs an operator of its own" built_in::a_built_in_kind_is_an_owner),
    scenario!(simulated "needs operators of its own" elsewhere::a_child_where_it_cannot_be_is_told_on_its_owner),
    scenario!(simulated "needs an hour" elsewhere::a_plan_sees_the_status_of_a_child_elsewhere),
    scenario!(simulated "needs counts request by request" elsewhere::a_child_of_a_namesake_in_another_namespace_is_not_touched),
    scenario!(simulated "needs an operator of its own" elsewhere::children_of_an_earlier_owner_of_the_same_name_are_taken_over),
    scenario!(simulated "needs hours" elsewhere::a_child_without_one_of_its_labels_gets_it_back),
    scenario!(simulated "needs an operator of its own" elsewhere::an_owner_without_a_plan_goes_with_its_children_elsewhere),
    scenario!(simulated "needs other namespaces" elsewhere::an_operator_of_two_namespaces_works_in_both_and_nowhere_else),

    scenario!(anywhere webapp::it_applies_its_deployment_corrects_it_follows_its_spec_and_goes).on_kine(),
    scenario!(anywhere webapp::what_changed_while_it_was_down_is_found),
    scenario!(anywhere webapp::a_foreign_deployment_is_not_taken_over),
    scenario!(simulated "needs refused requests" webapp::its_finalizer_is_removed_last),
    scenario!(simulated "needs 5,000 objects" webapp::one_relist_every_five_minutes_looks_for_the_drift_of_all).storeless(),
    scenario!(simulated "needs ten minutes" webapp::it_relists_for_drift_every_five_minutes),
    scenario!(simulated "needs Deployments that never become ready" webapp::no_child_is_made_repeatedly_for_an_owner_that_went_with_its_crd),
    scenario!(simulated "needs refused requests" webapp::a_failure_is_retried_after_ten_seconds_with_growing_pauses),
    scenario!(anywhere myservice::it_makes_both_children_follows_its_spec_heals_and_goes).on_kine(),
    scenario!(simulated "needs slow requests" myservice::a_spec_that_changes_before_an_event_of_a_child_is_applied_to_all_children),
    scenario!(simulated "needs counts request by request" myservice::drift_of_two_among_many_is_found_with_few_requests),
    scenario!(anywhere inference_service::it_is_refused_or_provisioned_then_ready_with_an_endpoint).on_kine(),
    scenario!(simulated "needs counts request by request" inference_service::its_requeue_is_its_own_and_survives_a_restart),
    scenario!(simulated "needs another CRD" inference_service::an_older_schema_leaves_the_gpu_type_to_the_operator),
    scenario!(pure inference_service::errors_are_typed),
    scenario!(anywhere certificates::it_is_made_for_its_issuer_and_made_again_when_that_changes).storeless(),
    scenario!(anywhere certificates::a_cluster_issuer_serves_every_namespace).storeless(),
    scenario!(anywhere certificates::it_is_renewed_after_two_thirds_of_its_time).storeless(),
    scenario!(simulated "needs eighty days" certificates::one_of_ninety_days_is_renewed_once_in_eighty).storeless(),
    scenario!(anywhere external_secrets::its_secret_follows_the_backend_and_comes_back).storeless(),
    scenario!(simulated "needs half a minute" external_secrets::a_busy_backend_is_asked_again_when_it_says).storeless(),
    scenario!(simulated "needs an hour" external_secrets::each_is_refreshed_at_its_interval_within_the_rate).storeless(),
    scenario!(anywhere cache::its_children_have_its_labels_and_go_with_it),
    scenario!(anywhere cache::another_password_rolls_it_and_a_label_of_the_secret_does_not),
    scenario!(anywhere cache::it_waits_for_its_password),
    scenario!(anywhere cache::paused_it_is_left_as_it_is),
    scenario!(anywhere quotas::each_has_a_quota_and_a_label_which_are_set_back).storeless(),
    scenario!(simulated "needs a directory" tenant::its_entry_in_the_directory_goes_before_it),
    scenario!(anywhere echo::it_has_its_finalizer_before_its_deployment_and_follows_replicas),
    scenario!(anywhere echo::killed_at_its_start_and_at_its_end_it_finishes).on_kine(),
    scenario!(pure echo::the_action_follows_from_deletion_and_finalizer),

    scenario!(real "needs the program" alerts::alerts_and_dashboard_speak_of_what_is_there),
    scenario!(real "needs a server that is a process" watches::an_api_server_that_restarts_is_used_again).on_kine().alone(),
    scenario!(real "needs a datastore" watches::a_compacted_history_is_relisted).on_kine().alone(),
    scenario!(real "needs a datastore" restored::a_datastore_restored_from_a_backup_is_noticed).alone(),
    scenario!(anywhere watches::a_crd_that_is_deleted_while_running_is_waited_for).on_kine().alone(),
];

/// On an empty control plane. Each removes what an earlier one has left, so each of them is alone.
#[rustfmt::skip]
const SHIPPED: &[Scenario] = &[
    scenario!(real "needs kubectl" shipped::install_yaml_is_applied_as_it_is_and_its_pod_is_admitted).alone().kubectl(),
    scenario!(real "needs kubectl" shipped::a_pod_without_one_of_its_settings_is_refused).alone().kubectl(),
    scenario!(real "needs kubectl" shipped::a_newer_install_over_an_older_one_restarts_no_child).alone().kubectl(),
    scenario!(real "needs kubectl" shipped::the_crd_deleted_while_the_operator_is_down_comes_back_with_the_next_install).alone().kubectl(),
    scenario!(real "needs kubectl" shipped::the_crd_deleted_without_an_operator_takes_all_with_it).alone().kubectl(),
    scenario!(real "needs the controllers of Pods" rollouts::a_new_image_that_never_starts_is_not_ready).alone().kubectl(),
    scenario!(real "needs the controllers of Pods" rollouts::pods_that_pod_security_or_a_quota_refuses_are_told).alone().kubectl(),
    scenario!(real "needs kubectl" overlays::two_replicas_work_one_after_the_other).alone().kubectl(),
    scenario!(real "needs kubectl" overlays::an_operator_of_one_namespace_needs_no_clusterrole).alone().kubectl(),
    scenario!(real "needs kubectl" shipped::removal_in_the_documented_order_leaves_nothing).alone().kubectl(),
];

/// Tests that run beside each other.
type Suite = fn(&Arguments) -> Result<Conclusion, Failed>;

/// One after the other: what is measured under overload has the machine for itself. After a failure
/// there is no next one, so that what failed is at the end of the output.
const SUITES: [Suite; 3] = [stories, objects::run, overload::run];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    for suite in SUITES {
        let failed = suite(&arguments).map_or_else(
            |error| {
                eprintln!("error: {}", error.message().unwrap_or_default());
                true
            },
            |conclusion| conclusion.has_failed(),
        );
        if failed {
            return ExitCode::from(101); // as libtest ends
        }
    }
    ExitCode::SUCCESS
}

/// Runs tests on so many threads, where the arguments do not choose another number.
fn run(arguments: &Arguments, threads: usize, trials: Vec<Trial>) -> Conclusion {
    let mut arguments = arguments.clone();
    arguments.test_threads.get_or_insert(threads);
    libtest_mimic::run(&arguments, trials)
}

fn stories(arguments: &Arguments) -> Result<Conclusion, Failed> {
    let mut trials = vec![Trial::test(
        "permission_table::has_the_permissions_of_the_role_and_of_the_readme",
        permission_table::has_the_permissions_of_the_role_and_of_the_readme,
    )];
    trials.extend(suite::trials(SCENARIOS, SHIPPED)?);
    Ok(run(arguments, THREADS, trials))
}
