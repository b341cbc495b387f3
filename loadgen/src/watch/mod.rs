//! What is read from outside the subject: its metrics page, the server's request counts, when it is idle.

pub mod admin;
pub mod audit_log;
pub mod gc_pause;
pub mod log_tail;
pub mod machine_use;
pub mod memory_search;
pub mod metrics_text;
pub mod series;
pub mod settle;
