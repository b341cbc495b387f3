//! The allocator of the binary. Leaves to a later choice by measurement which one that is.

/// Its name, for `/metrics` and `tare version`.
pub const NAME: &str = if cfg!(target_env = "musl") {
    "musl"
} else {
    "system"
};
