//! Nothing is kept: a converged object is recognised by its own generation and status.

use super::Cache;
use crate::queue::Work;

/// The mode `none`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Storeless;

impl Cache for Storeless {
    fn seen(&mut self, _key: &str, _work: &mut Work) {}
    fn gone(&mut self, _key: &str) {}
    fn complete(&self, _key: &str, _work: &mut Work) {}
}
