//! Short digests of names and bodies. Equal input gives an equal digest in every run.

/// FNV-1a, 32 bits: tells the few children of one owner apart.
pub(crate) fn hash32(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// FNV-1a, 64 bits: tells a status from the one last written.
pub(crate) fn hash64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
