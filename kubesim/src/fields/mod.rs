//! Who owns which field: field sets, how lists and maps merge, managedFields, server-side apply.
//!
//! Follows structured-merge-diff v6.3.2 (`typed/compare.go`, `merge/update.go`) in one API
//! version: a resource is served in one version here, so nothing is converted.

pub(crate) mod apply;
pub(crate) mod compare;
pub(crate) mod layout;
pub(crate) mod managed;
pub(crate) mod set;
