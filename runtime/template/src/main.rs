//! The program: `notes run --install-crd`; `notes help` lists commands and options.

use notes::{Note, Notes};
use tare_runtime::prelude::*;

fn main() -> ExitCode {
    Program::of::<Note>("an operator for Notes", env!("CARGO_PKG_VERSION"))
        .main(Notes, std::env::args_os().skip(1))
}
