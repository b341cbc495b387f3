//! Overload and hostile networks, on kube-apiserver and etcd: the operator as a process, with the flags as shipped.
//!
//! A case that takes minutes is ignored, with the reason in brackets; a smaller version of it runs by default. Each prints
//! its figures. `OVERLOAD_RECORDS=FOLDER` keeps a record of each case in a file, and makes `FOLDER.md` of all in the end.
//! `TARE_PROGRAM=FILE` tests another program than the one that cargo builds: memory is that of the static program only
//! there. `OVERLOAD_IDLE_S` is how long connections to the admin port stay idle. `just overload` sets all of them.
//! `STORM_SEEDS=7,9` chooses the seeds of storms.
//! `OVERLOAD_MACHINE=shared` says in the records that other programs use the machine too.
//!
//! Without the binaries of a control plane (`loadgen control-plane build`) the cases are ignored.

mod cases;
mod container;
mod history;
mod link;
mod machine;
mod proxy;
mod record;
mod report;
mod setting;
mod wait;

#[path = "../../shared/runc.rs"]
mod runc;

#[allow(dead_code)] // the simulation uses all of it
#[path = "../../shared/planned.rs"]
mod planned;

#[allow(dead_code)] // the simulation uses all of it
#[path = "../../shared/rng.rs"]
mod rng;

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use controlplane::shared::Shared;
use controlplane::{Binaries, Datastore};
use futures::FutureExt;
use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Conclusion, Failed, Trial};

use crate::cluster::plane::{Setting as Installed, SharedPlane};

use cases::{
    admin, broken, gone, half_open, hanging, killed, large, leader, rotated, selector, slow_link,
    storm, unavailable,
};
use record::Figures;
use setting::Setting;

/// Cases at once: each mostly waits.
const THREADS: usize = 6;

type Plane = Arc<Shared<Arc<SharedPlane>>>;
type Run = for<'a> fn(&'a Setting, &'a mut Figures) -> BoxFuture<'a, Result<(), Failed>>;

/// A case, and why it does not run by default.
struct Case {
    name: &'static str,
    run: Run,
    ignored: Option<&'static str>,
}

macro_rules! case {
    ($noun:ident::$name:ident) => {
        case!($noun::$name, None)
    };
    ($because:literal $noun:ident::$name:ident) => {
        case!($noun::$name, Some($because))
    };
    ($noun:ident::$name:ident, $ignored:expr) => {
        Case {
            name: concat!(stringify!($noun), "::", stringify!($name)),
            run: |setting, figures| Box::pin($noun::$name(setting, figures)),
            ignored: $ignored,
        }
    };
}

/// The longest first.
const CASES: &[Case] = &[
    case!("takes 8 minutes" unavailable::five_thousand_wait_through_five_minutes_of_503),
    case!("takes an hour" slow_link::five_hundred_owners_on_64_kbit_per_s),
    case!("takes 10 minutes" slow_link::fifty_owners_on_64_kbit_per_s),
    case!("takes two hours" storm::other_clients_beside_a_burst_of_1500),
    case!("takes 15 minutes" storm::a_thousand_lose_readiness_beside_a_burst_of_2000),
    case!("takes 3 minutes" leader::another_replica_follows_each_kill),
    case!(rotated::a_new_authority_is_trusted),
    case!(storm::sixty_idle_without_a_cache),
    case!(storm::sixty_idle_with_a_cache_of_metadata),
    case!(storm::sixty_idle_with_a_pruned_cache),
    case!(slow_link::five_owners_on_64_kbit_per_s),
    case!(unavailable::two_hundred_wait_through_20_s_of_503),
    case!(half_open::watches_and_writes_notice_a_peer_that_is_gone),
    case!(broken::one_undecodable_and_one_panicking_among_a_thousand),
    case!("needs runc and the static program" large::thirty_two_edgeapps_of_1_4_mb_within_16_mib_in_runc),
    case!(large::thirty_two_edgeapps_of_1_4_mb),
    case!(admin::a_thousand_idle_connections),
    case!(hanging::five_hundred_owners_whose_writes_hang),
    case!(selector::four_edits_and_an_added_key_are_set_back),
    case!(selector::a_variable_without_a_value_makes_no_event),
    case!(rotated::a_new_token_is_sent),
    case!(killed::ten_times_at_named_points),
    case!(gone::a_watch_is_answered_with_410),
    case!(gone::a_watch_shows_410_in_an_event),
    case!(gone::a_watch_shows_a_status_with_code_410),
    case!(gone::the_second_page_of_a_list_is_answered_with_410),
    case!(large::a_deployment_that_the_server_sends_with_5_mb),
];

/// Runs what `arguments` choose, and writes the page on all records.
///
/// # Errors
/// The page cannot be written.
pub fn run(arguments: &Arguments) -> Result<Conclusion, Failed> {
    let conclusion = crate::run(arguments, THREADS, trials());
    if let Some(folder) = record::folder().filter(|folder| folder.exists()) {
        report::write(&folder)?;
    }
    Ok(conclusion)
}

fn trials() -> Vec<Trial> {
    let plane = plane();
    if let Err(reason) = &plane {
        eprintln!("ignored: {reason}");
    }
    let trial = |case: &'static Case| {
        let kind = case
            .ignored
            .or_else(|| plane.is_err().then_some("needs binaries"));
        let plane = plane.as_ref().ok().map(Arc::clone);
        let run = move || case.run_on(plane.as_ref().ok_or("needs binaries")?);
        let trial =
            Trial::test(format!("overload::{}", case.name), run).with_ignored_flag(kind.is_some());
        trial.with_kind(kind.unwrap_or_default())
    };
    let of_records = Trial::test(
        "overload::report::a_busy_machine_is_told_and_fails_no_case",
        report::a_busy_machine_is_told_and_fails_no_case,
    );
    CASES.iter().map(trial).chain([of_records]).collect()
}

/// The control plane that the cases share, started by the first of them, or why there is none.
fn plane() -> Result<Plane, String> {
    let binaries = Binaries::find().map_err(|error| error.to_string())?;
    let shared = Shared::new(move || {
        let binaries = binaries.clone();
        async move {
            let setting = Installed::Installed;
            let plane = SharedPlane::start(&binaries, Datastore::Etcd, setting).await;
            plane.map(Arc::new)
        }
    });
    shared.map(Arc::new).map_err(|error| error.to_string())
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_default()
}

impl Case {
    fn run_on(&self, plane: &Plane) -> Result<(), Failed> {
        plane.beside_others(async |plane| {
            let mut figures = Figures::default();
            let watch = machine::Watch::begin();
            let ran = async {
                let setting = Setting::new(plane).await?;
                (self.run)(&setting, &mut figures).await?;
                setting.cluster.end().await;
                Ok::<(), Failed>(())
            };
            // What waits for an object panics where it does not come.
            let ran = AssertUnwindSafe(ran).catch_unwind().await;
            let ran = ran.unwrap_or_else(|panic| Err(words(&*panic).into()));
            record::conclude(self.name, figures, watch.end(), ran)
        })?
    }
}
