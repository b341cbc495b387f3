//! Steps that cannot be done: one line each, with the place of the step and not of another one.

use super::*;

#[test]
fn a_step_that_cannot_be_done_is_one_line_with_its_own_place() {
    let children = "[[children]]\napi_version = \"v1\"\nkind = \"Secret\"\nplural = \"secrets\"\n";
    // The first step is good, so that the place is that of the second one.
    let first = "[[steps]]\ndo = \"update\"\ntimes = 2\n";
    let line_of_first = WORKLOAD.lines().count() + 1;
    for (before, step, line, want) in [
        (
            0,
            "do = \"update\"\ntimes = 0\n",
            2,
            "steps.times: 0: use 1 to 1000",
        ),
        (
            0,
            "do = \"recreate\"\nper_s = -1\n",
            2,
            "steps.per_s: -1: use a rate",
        ),
        (
            0,
            "do = \"scale\"\nfield = \"spec\"\nvalue = 1\n",
            2,
            "steps.field: \"spec\": write a JSON pointer",
        ),
        (
            0,
            "do = \"idle\"\nseconds = 0\n",
            2,
            "steps.seconds: 0: use 1 to 86400",
        ),
        (
            0,
            "do = \"create\"\n",
            1,
            "steps.do: create: the objects are there",
        ),
        (
            0,
            "do = \"delete-children\"\n",
            1,
            "steps.do: delete-children: add [[children]]",
        ),
        (
            0,
            "do = \"fault\"\nseconds = 1\n",
            1,
            "steps.do: fault: add object.rejected",
        ),
        (
            4,
            "do = \"delete-children\"\n[[steps]]\ndo = \"delete\"\n[[steps]]\ndo = \"update\"\n",
            5,
            "steps.do: the objects are deleted; put a create before it",
        ),
    ] {
        let children = if before > 0 { children } else { "" };
        let workload = format!("{WORKLOAD}{children}{first}[[steps]]\n{step}");
        let error = read("steps", &workload, TEMPLATE, CRD).expect_err(step);
        let line = line_of_first + before + 3 + line;
        assert!(
            error.starts_with(&format!("workload.toml:{line}: {want}")),
            "{step}: {error}"
        );
    }
    for (step, want) in [
        ("do = \"dance\"\n", "dance"),
        ("do = \"idle\"\nseconds = 1\ntimes = 1\n", "times"),
        ("do = \"idle\"\n", "missing field `seconds`"),
    ] {
        let workload = format!("{WORKLOAD}{first}[[steps]]\n{step}");
        let error = read("steps", &workload, TEMPLATE, CRD).expect_err(step);
        assert!(
            error.starts_with("workload.toml:") && error.contains(want),
            "{step}: {error}"
        );
    }
}
