//! What a command line asks to be measured, and whether this machine can.
//!
//! Guarantees: everything is refused here, in one line, before anything is built or started.
//! Leaves to others: the cells (`plan`).

use crate::cli::bench::args::BenchArgs;
use crate::error::Usage;
use crate::plan::Plan;
use crate::plan::profile::Profile;
use crate::spec::control_plane::ControlPlane;
use crate::spec::subject;

const MOST_OBJECTS: usize = 1_000_000;

/// One of the numbers of objects.
///
/// # Errors
/// None that can be measured.
pub fn size(text: &str) -> Result<usize, String> {
    let size: Option<usize> = text.trim().parse().ok();
    size.filter(|size| *size <= MOST_OBJECTS).ok_or_else(|| {
        format!("write a number of objects, 0 to {MOST_OBJECTS}, such as in 0,500,2000,5000")
    })
}

/// A generator on a few cores sends about this many.
const MOST_PER_S: u32 = 1_000;

pub fn plan(args: &BenchArgs) -> Result<Plan, Usage> {
    let real = args.means.control_plane.is_ours_and_real();
    let subjects =
        subject::select(args.subjects.as_deref(), &args.subject, real).map_err(Usage::of)?;
    let extra = extra_bytes(args.object_bytes);
    let mut sizes = Vec::new();
    for size in &args.objects {
        if !sizes.contains(size) {
            sizes.push(*size);
        }
    }
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let available = available_bytes();
    enough_memory(largest, extra, args.means.control_plane, available)?;
    let overlap = overlap(args, largest, available)?;
    if args.bystanders.is_some() && args.means.control_plane == ControlPlane::Existing {
        return Err(Usage(
            "--bystanders: objects that belong to nobody are created on control planes of loadgen's own only; use kubesim, kube or kine".into(),
        ));
    }
    if args.soak_events.is_some() && args.means.control_plane != ControlPlane::Kubesim {
        return Err(Usage(
            "--soak-events: only the simulated control plane lets somebody else say what a child is like; leave out --control-plane".into(),
        ));
    }
    if args.server_restart && !real {
        return Err(Usage(
            "--server-restart: loadgen restarts a kube-apiserver of its own; add --control-plane kube".into(),
        ));
    }
    let (repeats, repeats_largest) = repeats(args);
    Ok(Plan {
        subjects,
        sizes,
        repeats,
        repeats_largest,
        memory_repeats: args.memory_repeats,
        unhealthy: args.unhealthy,
        update_storm: args.update_storm,
        overlap,
        rates: rates(args)?,
        aa_pairs: args.aa_pairs.unwrap_or(repeats_largest),
        request_counts: real && !args.only_bursts(),
        default_flags: real && !args.only_bursts(),
        memory_only: args.memory_only,
    })
}

/// Rates of the sweep, ascending; none with `--rates none`, `--bursts-only` and `--memory-only`.
///
/// # Errors
/// No numbers, or numbers that no harness here can offer.
fn rates(args: &BenchArgs) -> Result<Vec<u32>, Usage> {
    if args.only_bursts() || args.rates == "none" {
        return Ok(Vec::new());
    }
    let mut rates = Vec::new();
    for text in args.rates.split(',').map(str::trim) {
        let per_s = text.parse().ok();
        let per_s = per_s.filter(|per_s| (1..=MOST_PER_S).contains(per_s));
        rates.push(per_s.ok_or_else(|| {
            Usage(format!(
                "--rates {:?}: {text:?} is not a number of objects per second from 1 to {MOST_PER_S}; write them like 5,10,20, or none",
                args.rates
            ))
        })?);
    }
    rates.sort_unstable();
    rates.dedup();
    Ok(rates)
}

/// A quick look at the simulated server measures once; a real control plane is worth the time that
/// intervals take.
fn repeats(args: &BenchArgs) -> (u32, u32) {
    let (repeats, repeats_largest) = match args.means.control_plane {
        ControlPlane::Kubesim => (1, 1),
        ControlPlane::Kube | ControlPlane::Kine | ControlPlane::Existing => (3, 5),
    };
    let asked = args.repeats.unwrap_or(repeats);
    let largest = args.repeats_largest.or(args.repeats);
    (asked, largest.unwrap_or(repeats_largest))
}

/// What disturbs a timed run three times in a row will not go away by itself; a quick look does not
/// wait for that.
pub fn attempts(args: &BenchArgs) -> u32 {
    args.attempts.unwrap_or(match profile(args) {
        Profile::Quick => 1,
        Profile::Standard | Profile::Full => 3,
    })
}

/// A newcomer's machine is never quiet, and the quick profile is for a first look.
pub fn marks_disturbed(args: &BenchArgs) -> bool {
    profile(args) == Profile::Quick
}

pub fn profile(args: &BenchArgs) -> Profile {
    args.profile.unwrap_or(match args.means.control_plane {
        ControlPlane::Kubesim => Profile::Quick,
        ControlPlane::Kube | ControlPlane::Kine | ControlPlane::Existing => Profile::Standard,
    })
}

/// Runs under way at once where nobody chose: enough that one of them works even where a run is 10 to
/// 20 s of work and 160 s of quiet. A control plane that is left alone takes 1.5 % of a core.
const OVERLAP: usize = 8;

/// How many runs may be under way at once.
///
/// # Errors
/// More were asked for than there is memory or a cluster for.
fn overlap(args: &BenchArgs, largest: usize, available: Option<u64>) -> Result<usize, Usage> {
    let asked = args.overlap.map(usize::from);
    if args.means.control_plane == ControlPlane::Existing {
        return match asked {
            None | Some(1) => Ok(1),
            Some(n) => Err(Usage(format!(
                "--overlap {n}: a cluster that is there already has room for one run at a time; leave it out"
            ))),
        };
    }
    let extra = extra_bytes(args.object_bytes);
    let needed = needed_bytes(largest, extra, args.means.control_plane).max(1);
    let fit = available.map_or(OVERLAP, |available| (available / needed).max(1) as usize);
    match asked {
        Some(n) if n > 1 && n > fit && available.is_some() => Err(Usage(format!(
            "--overlap {n}: {n} runs of {largest} objects need about {} MB of memory and there is room for {fit}; choose fewer",
            n as u64 * needed / 1_000_000
        ))),
        Some(n) => Ok(n),
        None if profile(args) == Profile::Quick => Ok(1),
        None => Ok(fit.min(OVERLAP)),
    }
}

/// What the servers, a subject that keeps everything (30 KB per object) and the harness need at
/// most, in bytes. The simulated server keeps 20 KB per object with its children. kube-apiserver holds the
/// last events of a kind beside the objects, those of `IN_HISTORY`: measured during bursts it held 2.8 GB
/// with 5,000, 7.3 from 19,000 to 24,000 (on kine), and 14.8 with 100,000, where etcd held 2.0 more and the
/// controllers 1.7. `extra` bytes of a larger object are there once for each
/// revision in the datastore, and again in the caches of the server and of the subject.
pub fn needed_bytes(objects: usize, extra: usize, control_plane: ControlPlane) -> u64 {
    let (base, per_object, per_recent, copies) = match control_plane {
        ControlPlane::Kubesim => (300_000_000, 52_000, 0, 8),
        ControlPlane::Kube | ControlPlane::Kine => (900_000_000, 130_000, 260_000, 20),
        ControlPlane::Existing => (100_000_000, 32_000, 0, 4),
    };
    let recent = objects.min(IN_HISTORY) as u64;
    base + objects as u64 * (per_object + extra as u64 * copies) + recent * per_recent
}

/// Objects whose creation fills a watch cache: `defaultUpperBoundCapacity` in kube-apiserver's
/// `storage/cacher/watch_cache.go` is 100 x 1,024 events, and an object with two children has five.
const IN_HISTORY: usize = 100 * 1_024 / 5;

/// Bytes by which objects are larger than those of about 2 KB that the figures above are of.
fn extra_bytes(object_bytes: Option<usize>) -> usize {
    object_bytes.map_or(0, |bytes| bytes.saturating_sub(2_048))
}

fn enough_memory(
    objects: usize,
    extra: usize,
    control_plane: ControlPlane,
    available: Option<u64>,
) -> Result<(), Usage> {
    let needed = needed_bytes(objects, extra, control_plane);
    match available {
        Some(available) if available < needed => Err(Usage(format!(
            "--objects: {objects} need about {} MB of memory and {} MB are available; choose fewer",
            needed / 1_000_000,
            available / 1_000_000
        ))),
        _ => Ok(()),
    }
}

/// `MemAvailable`, or the limit of the cgroup where that is lower; `None` where nobody says.
pub fn available_bytes() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024;
    let limits = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let limit = limits
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok())
        .min();
    Some(limit.map_or(available, |limit: u64| limit.min(available)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_or_refused() {
        assert_eq!(size(" 500").expect("valid"), 500);
        for text in ["5k", "", "-1", "1000001"] {
            let error = size(text).expect_err(text);
            assert!(
                error.contains("a number of objects, 0 to 1000000"),
                "{error}"
            );
        }
        let plan = plan(&args("--objects 0,500,500")).expect("valid");
        assert_eq!(plan.sizes, [0, 500]);
    }

    fn args(words: &str) -> BenchArgs {
        let all = ["loadgen", "bench"].into_iter().chain(words.split(' '));
        match crate::cli::parse(all.filter(|word| !word.is_empty()).map(Into::into)) {
            Ok(crate::cli::Command::Bench(args)) => *args,
            _ => panic!("{words:?} is not a bench"),
        }
    }

    #[test]
    fn runs_overlap_as_asked_for_or_as_memory_allows() {
        // A control plane of 5,000 objects needs 2.85 GB.
        let gb = |gb: u64| Some(gb * 1_000_000_000);
        for (words, available, want) in [
            ("", gb(20), 1),
            ("--profile full", gb(20), 8),
            ("--control-plane kube", gb(25), 8),
            ("--control-plane kube", gb(6), 2),
            ("--control-plane kube", gb(1), 1),
            ("--control-plane kube", None, 8),
            ("--control-plane kube --profile quick", gb(20), 1),
            ("--control-plane kube --overlap 6", gb(20), 6),
            ("--control-plane kube --overlap 6", None, 6),
            ("--control-plane existing", gb(20), 1),
        ] {
            let got = overlap(&args(words), 5_000, available).expect(words);
            assert_eq!(got, want, "{words} with {available:?}");
        }
        for (words, want) in [
            (
                "--control-plane kube --overlap 3",
                "--overlap 3: 3 runs of 5000 objects need about 8550 MB of memory and there is room for 2",
            ),
            (
                "--control-plane existing --overlap 2",
                "--overlap 2: a cluster that is there already has room for one run at a time",
            ),
        ] {
            let error = overlap(&args(words), 5_000, gb(6))
                .expect_err(words)
                .to_string();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn a_disturbed_run_stays_on_the_quick_profile_alone() {
        for (words, want) in [
            ("", true),
            ("--profile standard", false),
            ("--profile full", false),
            ("--control-plane kube", false),
            ("--control-plane kube --profile quick", true),
        ] {
            assert_eq!(marks_disturbed(&args(words)), want, "{words:?}");
        }
    }

    #[test]
    fn bursts_only_leaves_out_all_that_follows_from_them() {
        let plan = plan(&args("--control-plane kube --objects 10 --bursts-only")).expect("valid");
        assert_eq!(plan.to_follow(), 0);
        assert!(!plan.request_counts);
    }

    #[test]
    fn rates_are_read_or_refused() {
        let of = |words: &str| rates(&args(words));
        assert_eq!(of("").expect("default"), [5, 10, 20, 40, 80]);
        assert_eq!(of("--rates 40,5,5").expect("valid"), [5, 40]);
        for words in ["--rates 0", "--rates 5,fast", "--rates 2000"] {
            let error = of(words).expect_err(words).to_string();
            assert!(
                error.contains("is not a number of objects per second from 1 to 1000"),
                "{error}"
            );
        }
    }

    #[test]
    fn children_are_flipped_on_the_simulated_server_only() {
        let words = "--control-plane kube --objects 10 --soak-events 100";
        let error = plan(&args(words)).expect_err(words).to_string();
        assert!(
            error.contains("--soak-events: only the simulated"),
            "{error}"
        );
    }

    #[test]
    fn memory_needed_and_present_are_said() {
        let enough =
            |objects, available| enough_memory(objects, 0, ControlPlane::Kubesim, available);
        let error = enough(100_000, Some(2_000_000_000))
            .expect_err("too little")
            .to_string();
        assert!(
            error.contains("100000 need about 5500 MB of memory and 2000 MB are available"),
            "{error}"
        );
        assert!(enough(100_000, Some(8_000_000_000)).is_ok());
        assert!(enough(5_000, None).is_ok());
        let large = args("--control-plane kube --objects 2000 --object-bytes 51200");
        let extra = extra_bytes(large.object_bytes);
        let error = enough_memory(2_000, extra, ControlPlane::Kube, Some(3_000_000_000));
        let error = error.expect_err("large objects").to_string();
        assert!(error.contains("2000 need about 3646 MB"), "{error}");
    }
}
