//! The example `pods`: its pure parts by tables, its commands against the simulated server, on paused
//! time. On a real kube-apiserver: `tests/scenarios/tour.rs`; on a real node: [`node`].

#[path = "../../../examples/pods/main.rs"]
#[allow(dead_code)] // what `main` does with a terminal and a kubeconfig
mod example;

mod age;
mod exec;
mod init_containers;
mod layers;
mod logs;
mod node;
mod objects;
mod pod_ext;
mod states;
mod table;
mod terminal;
mod tree;
mod usage;
