//! The machine that a case runs on, and what it does meanwhile.
//!
//! Guarantees: what the kernel does not tell is `None`; whether other programs use the machine is said by who runs the case.

use serde::{Deserialize, Serialize};
use tare_procstat::CpuAccount;

/// CPU time while a case ran, seconds. This process, its servers and its operators are not others.
#[derive(Clone, Serialize, Deserialize)]
pub struct Use {
    pub wall_s: f64,
    pub own_s: f64,
    pub others_s: f64,
    pub steal_s: f64,
    /// In which some task waited for a processor.
    pub waited_s: Option<f64>,
}

/// Begins when it is made.
pub struct Watch(Option<CpuAccount>);

impl Watch {
    pub fn begin() -> Watch {
        Watch(CpuAccount::take().ok())
    }

    pub fn end(self) -> Option<Use> {
        let spent = CpuAccount::take().ok()?.since(&self.0?);
        let rounded = |seconds: f64| (seconds * 10.0).round() / 10.0;
        Some(Use {
            wall_s: rounded(spent.wall_s),
            own_s: rounded(spent.own_s),
            others_s: rounded(spent.outside_s()),
            steal_s: rounded(spent.steal_s),
            waited_s: spent.waited_s.map(rounded),
        })
    }
}

/// Such as `shared, 2 cores`, where `OVERLOAD_MACHINE=shared`.
pub fn class() -> String {
    let cores = tare_procstat::machine().cores.unwrap_or_default();
    match std::env::var("OVERLOAD_MACHINE") {
        Ok(word) => format!("{word}, {cores} cores"),
        Err(_) => format!("{cores} cores"),
    }
}
