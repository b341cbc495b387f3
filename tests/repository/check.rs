//! `deploy/check.sh` against a kubectl that plays a cluster: what it concludes, and that it cleans up.
//!
//! Leaves to others: whether a real server answers like this one.

use std::error::Error;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Case {
    name: &'static str,
    flaw: &'static str,
    code: i32,
    says: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "everything is well",
        flaw: "",
        code: 0,
        says: &[
            "ok     cluster     v1.36.4+k3s1",
            "ok     pod         tare-1, no restarts, limit 16Mi",
            "ok     memory      4096 KB resident",
            "ok     edgeapp     created and Ready, 0 replicas",
            "ok     removal     nothing is left",
            "verdict: it works, 0 warnings",
        ],
    },
    Case {
        name: "no cluster answers",
        flaw: "unreachable",
        code: 2,
        says: &["error: the cluster does not answer: The connection"],
    },
    Case {
        name: "the CRD is being deleted",
        flaw: "crd-deleted",
        code: 1,
        says: &["FAIL   crd         edgeapps.tare.dev is being deleted"],
    },
    Case {
        name: "the pod was killed for memory",
        flaw: "oom",
        code: 1,
        says: &[
            "FAIL   pod         tare-1 was killed for memory at 2026-11-21T10:00:00Z (limit 16Mi",
        ],
    },
    Case {
        name: "the pod has restarted for another reason",
        flaw: "restarted",
        code: 0,
        says: &["warn   pod         tare-1: 1 restarts", "1 warnings"],
    },
    Case {
        name: "there is no pod",
        flaw: "no-pod",
        code: 1,
        says: &["FAIL   pod         there is none"],
    },
    Case {
        name: "the operator is not ready",
        flaw: "not-ready",
        code: 1,
        says: &[
            "FAIL   readyz      Error from server (ServiceUnavailable): may not watch services in the core API group",
        ],
    },
    Case {
        name: "the server refuses the EdgeApp",
        flaw: "refused",
        code: 1,
        says: &["FAIL   edgeapp     refused: Error from server (NotFound)"],
    },
    Case {
        name: "the operator does not see the EdgeApp",
        flaw: "not-seen",
        code: 1,
        says: &["FAIL   edgeapp     not Ready after 20 s: no status"],
    },
    Case {
        name: "a child is left",
        flaw: "left",
        code: 1,
        says: &["FAIL   removal     left in namespace tare-check-"],
    },
    Case {
        name: "Ctrl-C",
        flaw: "interrupted",
        code: 2,
        says: &["interrupted: removing namespace tare-check-"],
    },
];

#[test]
fn it_concludes_what_is_so_and_leaves_nothing() -> Result<(), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for case in CASES {
        let fake = folder(case)?;
        // A shell keeps ignoring what was ignored when it began, as Ctrl-C is in the background of another.
        let output = Command::new("env")
            .arg("--default-signal=INT")
            .arg(here.join("deploy/check.sh"))
            .env("KUBECTL", here.join("tests/repository/kubectl"))
            .env("FAKE", &fake)
            .env("FLAW", case.flaw)
            // So that the signal of one case reaches that case alone.
            .process_group(0)
            .output()?;
        let said = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
        let calls = std::fs::read_to_string(fake.join("calls"))?;
        assert_eq!(
            output.status.code(),
            Some(case.code),
            "{}: {said}",
            case.name
        );
        for line in case.says {
            assert!(said.contains(line), "{}: no {line:?} in: {said}", case.name);
        }
        assert!(!calls.contains("UNEXPECTED"), "{}: {calls}", case.name);
        for object in ["edgeapp", "namespace"] {
            let left = fake.join(object).exists();
            assert!(!left, "{}: its {object} is left: {calls}", case.name);
        }
    }
    Ok(())
}

/// An empty folder for one cluster.
fn folder(case: &Case) -> std::io::Result<PathBuf> {
    let fake = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("check-{}", case.flaw));
    match std::fs::remove_dir_all(&fake) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::create_dir_all(&fake)?;
    Ok(fake)
}

#[test]
fn a_wrong_option_is_one_line() -> Result<(), Box<dyn Error>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/check.sh");
    for (arguments, line) in [
        (
            &["--pods"][..],
            "error: unknown option --pods; there are --image IMAGE and --port\n",
        ),
        (
            &["--image"][..],
            "error: --image needs the name of an image\n",
        ),
    ] {
        let output = Command::new(&script).args(arguments).output()?;
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(String::from_utf8(output.stderr)?, line);
    }
    Ok(())
}
