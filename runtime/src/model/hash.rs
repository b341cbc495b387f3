//! Short digests of names, marks and bodies. Equal input gives an equal digest in every run.

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

/// Adds a label, or an annotation, to the digest of all, which does not depend on their order. What kubectl and the
/// controller of Deployments write of their own accord is not in it: no plan says that, and it comes with every rollout.
pub(crate) fn add_label(sum: u32, name: &str, value: &str) -> u32 {
    if is_of_others(name) {
        return sum;
    }
    let label = hash32(name).rotate_left(16) ^ hash32(value);
    // Spread out, so that two values that change places change the sum.
    sum.wrapping_add((label ^ (label >> 15)).wrapping_mul(0x85eb_ca6b))
}

/// FNV-1a, 64 bits: tells a status from the one last written.
pub(crate) fn hash64(bytes: &[u8]) -> u64 {
    more64(0xcbf2_9ce4_8422_2325, bytes)
}

/// The digest of what `hash` is the digest of, with `bytes` behind it.
pub(crate) fn more64(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
