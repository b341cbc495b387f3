//! The program: controllers for HelmCharts and HelmChartConfigs.

use std::process::ExitCode;

use helm_controller::{CRDS, run, settings};
use tare_runtime::app::program::Program;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).collect();
    let options = match settings::options(&mut arguments) {
        Ok(options) => options,
        Err(code) => return code,
    };
    let about = "a controller for the HelmCharts of k3s";
    CRDS.into_iter()
        .fold(
            Program::several("tare-helm-controller", about, env!("TARE_VERSION")),
            |program, (name, text)| program.crd(name, text),
        )
        .controller("helm-controller", |shared| run(shared, options))
        .main(arguments)
}
