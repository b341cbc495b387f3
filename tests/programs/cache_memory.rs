//! What a retained owner costs: heap growth while a cache is filled with 100,000 of them.

// A counting allocator is an allocator; the trait is unsafe by nature.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use tare::edgeapp::EdgeApps;
use tare_runtime::cache::{Cache, Mode};
use tare_runtime::model::{
    ChildState, Content, Finalizers, KindId, LastApplied, OwnerObject, OwnerState, SeenChild,
    StatusRecord, Transition, Uid,
};

struct Counting;

thread_local! {
    /// What this thread has allocated and freed: what other tests do beside it is not counted.
    static HELD_BYTES: Cell<isize> = const { Cell::new(0) };
}

fn held_bytes() -> isize {
    HELD_BYTES.get()
}

fn count(bytes: isize) {
    HELD_BYTES.set(HELD_BYTES.get() + bytes);
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const COUNT: usize = 100_000;
/// What a cache may take without an owner.
const EMPTY_BYTES: isize = 256;
const SPEC: &str =
    r#"{"image":"registry.local/shop/web:1.4","replicas":1,"port":8080,"headless":true}"#;

/// An owner with its Service and its Deployment, as a relist returns it.
fn owner(n: usize) -> OwnerState {
    let uid = |kind: usize| {
        Uid::parse(&format!("0000000{kind}-0000-0000-0000-{n:012x}")).unwrap_or_default()
    };
    let record = |place: usize| SeenChild {
        kind: KindId::child(place).expect("a kind of child"),
        place_hash: 7,
        uid_hash: 7,
        resource_version: 8,
        state: ChildState::default(),
        marks: 3,
        content: Content::Recorded(Some(Box::new(LastApplied {
            uid: uid(place + 1),
            body_digest: 1,
        }))),
    };
    let transition = Transition {
        type_hash: 1,
        status: b'T',
        since_s: 2,
    };
    let object = OwnerObject {
        uid: uid(0),
        generation: 1,
        resource_version: 9,
        finalizers: Finalizers {
            ours: Some(0),
            retired: None,
            count: 1,
            orphan: false,
        },
        body: Some(SPEC.into()),
        status: StatusRecord {
            digest: 3,
            observed_generation: Some(1),
            ready: true,
            transitions: Box::new([transition; 3]),
            foreign: None,
        },
        ..OwnerObject::default()
    };
    OwnerState {
        children: [record(0), record(1)].into_iter().collect(),
        ..object.into()
    }
}

fn filled(mode: Mode) -> (Box<dyn Cache>, isize) {
    let before = held_bytes();
    let mut cache = mode.cache(&Arc::new(EdgeApps));
    for n in 0..COUNT {
        assert!(cache.on_owner(&mut owner(n), Some(&[9, 9, 9])));
    }
    (cache, held_bytes() - before)
}

#[test]
fn a_retained_owner_costs_no_more_than_its_mode_promises() {
    let mut bytes_each = [0.0; 3];
    for (place, (mode, most_bytes_each)) in [
        (Mode::None, 0),
        // 24 bytes and their place in a table that is at least 7/16 full.
        (Mode::Metadata, 58),
        (Mode::Pruned, SPEC.len() + 600),
    ]
    .into_iter()
    .enumerate()
    {
        let before = held_bytes();
        let (mut cache, bytes) = filled(mode);
        let each = bytes as f64 / COUNT as f64;
        bytes_each[place] = each;
        assert!(
            bytes <= (most_bytes_each * COUNT) as isize + EMPTY_BYTES,
            "{mode}: {each:.1} bytes per owner"
        );
        let kept = if mode == Mode::None { 0 } else { COUNT };
        assert_eq!(cache.len(), kept);
        for n in 0..COUNT {
            cache.on_owner_gone(owner(n).object.uid);
        }
        assert!(cache.is_empty());
        drop(cache);
        let left = held_bytes() - before;
        assert!(left <= 0, "{mode}: {left} bytes are not given back");
    } // Not earlier: what is printed is held until the end of the test.
    println!(
        "none, metadata, pruned: {bytes_each:.1?} bytes per owner; the spec alone is {} bytes",
        SPEC.len()
    );
}
