//! Short digests of names, marks and bodies. Equal input gives an equal digest in every run.

use serde_json::Value;

/// FNV-1a, 32 bits: tells the few children of one owner apart.
pub(crate) fn hash32(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Tells the children of one kind of an owner in the namespace `of_owner` apart: by the name alone where the child is there
/// too or its kind has no namespaces.
pub(crate) fn place_hash(of_owner: &str, namespace: &str, name: &str) -> u32 {
    match namespace.is_empty() || namespace == of_owner {
        true => hash32(name),
        false => hash32(namespace).rotate_left(1) ^ hash32(name),
    }
}

/// What kubectl and the controller of Deployments write of their own accord.
const OF_OTHERS: [&str; 2] = [
    "deployment.kubernetes.io/",
    "kubectl.kubernetes.io/last-applied",
];

/// Whether a label or annotation of this name says nothing that a plan says or sees.
pub(crate) fn is_of_others(name: &str) -> bool {
    OF_OTHERS.iter().any(|other| name.starts_with(other))
}

/// Digest of the labels and annotations of an object, in the order of their names. What kubectl and the controller of
/// Deployments write there of their own accord is not in it: no plan says that, and it comes with every rollout.
pub(crate) fn marks(labels: &Value, annotations: &Value) -> u32 {
    let fold = |sum: u32, marks: &Value| {
        let marks = marks.as_object().into_iter().flatten();
        let marks = marks.filter(|(name, _)| !is_of_others(name));
        marks.fold(sum, |sum, (name, value)| {
            let value = hash32(value.as_str().unwrap_or_default());
            sum.wrapping_mul(31) ^ hash32(name).rotate_left(1) ^ value
        })
    };
    // So that a label is not taken for an annotation.
    fold(!fold(0, labels), annotations)
}

/// FNV-1a, 64 bits: tells a status from the one last written.
pub(crate) fn hash64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
