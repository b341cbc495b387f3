//! Nothing is kept: a converged object is recognised by its own generation and status.

use crate::cache::{Cache, Heard, Keeps, unknown};
use crate::model::object::Uid;
use crate::queue::Work;

/// The mode `none`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Storeless;

impl Cache for Storeless {
    fn keeps(&self) -> Keeps {
        Keeps::Nothing
    }
    fn len(&self) -> usize {
        0
    }
    fn seen(&mut self, _work: &mut Work, _page: Option<&[u64]>) -> bool {
        true
    }
    fn gone(&mut self, _uid: Uid) {}
    fn heard(&mut self, heard: Heard<'_>) -> Option<Work> {
        heard.at_rest.then(|| unknown(&heard, true))
    }
    fn complete(&self, _work: &mut Work) {}
    fn learn(&mut self, _work: &mut Work) {}
    fn join_began(&mut self) {}
    fn join_ended(&mut self, _whole: bool) {}
    fn forget(&mut self) {}
}
