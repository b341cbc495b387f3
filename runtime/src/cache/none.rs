//! Nothing is retained: a converged object is recognised by its own generation and status.

use crate::cache::{Cache, ChildUpdate, unknown};
use crate::model::{OwnerState, Retention, Uid};

/// The mode `none`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Storeless;

impl Cache for Storeless {
    fn retention(&self) -> Retention {
        Retention::Nothing
    }
    fn len(&self) -> usize {
        0
    }
    fn on_owner(&mut self, _state: &mut OwnerState, _page: Option<&[u64]>) -> bool {
        true
    }
    fn on_owner_gone(&mut self, _uid: Uid) {}
    fn on_child_event(&mut self, update: ChildUpdate<'_>) -> Option<OwnerState> {
        update.idle.then(|| unknown(update.event))
    }
    fn complete(&self, _state: &mut OwnerState) {}
    fn record(&mut self, _state: &mut OwnerState) {}
    fn relist_began(&mut self) {}
    fn relist_ended(&mut self, _whole: bool) {}
    fn clear(&mut self) {}
}
