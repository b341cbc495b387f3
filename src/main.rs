//! The `tare` command: the operator for EdgeApps as a program.

use std::process::ExitCode;

use tare::edgeapp::{CRD_REVISION, CRD_YAML, EdgeApps};
use tare_runtime::app::program::{Definition, Program};

const TARE: Program = Program {
    about: "a lean Kubernetes operator for EdgeApps",
    version: tare::VERSION,
    crd: Definition::Text(CRD_YAML),
    crd_revision: Some(CRD_REVISION),
};

fn main() -> ExitCode {
    TARE.main(EdgeApps, std::env::args_os().skip(1))
}
