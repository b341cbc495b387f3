//! `loadgen doctor`: what can be measured on this machine, and how to enable the rest.
//!
//! Guarantees: changes nothing but the peak counter of its own process; one line for each check;
//! exit code 1 only when no bench can run. Leaves to others: installing what is missing.

pub mod checks;
pub mod facts;

use std::process::ExitCode;

use clap::Args;

use crate::cli::doctor::checks::{Check, State};
use crate::cli::doctor::facts::Facts;

#[derive(Args)]
pub struct DoctorArgs {
    /// Largest number of objects to measure
    #[arg(long, value_name = "N", default_value_t = 5000)]
    objects: usize,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
}

pub fn run(args: DoctorArgs) -> anyhow::Result<ExitCode> {
    let checks = checks::all(&Facts::gather(), args.objects);
    let cannot: Vec<&str> = checks
        .iter()
        .filter(|check| check.needed && check.state == State::Missing)
        .map(|check| check.name)
        .collect();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&checks)?);
    } else {
        let conclusion = conclusion(&cannot, checks::real_too(&checks), args.objects);
        println!("{}\n{conclusion}", table(&checks));
    }
    Ok(ExitCode::from(u8::from(!cannot.is_empty())))
}

fn conclusion(cannot: &[&str], real_too: bool, objects: usize) -> String {
    if !cannot.is_empty() {
        return format!("a bench cannot run here: see {} above", cannot.join(", "));
    }
    let servers = if real_too {
        "the simulated API server and a real control plane"
    } else {
        "the simulated API server only; for a real one see control plane and memory above"
    };
    format!("a bench of {objects} objects can run here, against {servers}")
}

fn table(checks: &[Check]) -> String {
    let name = checks
        .iter()
        .map(|check| check.name.len())
        .max()
        .unwrap_or(0);
    checks
        .iter()
        .map(|check| {
            format!(
                "{:<name$}  {:<7}  {}\n",
                check.name,
                check.state.word(),
                check.says
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conclusion_says_which_servers_there_are() {
        assert!(conclusion(&[], true, 5).ends_with("a real control plane"));
        assert!(conclusion(&[], false, 5).contains("simulated API server only"));
        let cannot = conclusion(&["memory"], true, 5);
        assert_eq!(cannot, "a bench cannot run here: see memory above");
    }

    #[test]
    fn columns_are_aligned() {
        let check = |name, state, says: &str| Check {
            name,
            state,
            says: says.to_owned(),
            needed: false,
        };
        let checks = [
            check("cores", State::Ok, "2"),
            check("open files", State::Warning, "few"),
            check("go", State::Missing, "install it"),
        ];
        assert_eq!(
            table(&checks),
            "cores       ok       2\n\
             open files  warning  few\n\
             go          missing  install it\n"
        );
    }
}
