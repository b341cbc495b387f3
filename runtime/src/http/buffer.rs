//! A buffer that grows with what it holds.
//!
//! Guarantees: a large one is at most an eighth larger than its contents, where `Vec` would double.

/// From this size on a buffer grows by an eighth, bytes.
const DOUBLED_BYTES: usize = 64 << 10;

/// Adds `bytes` to `buffer`.
pub(crate) fn append(buffer: &mut Vec<u8>, bytes: &[u8]) {
    let needed = buffer.len() + bytes.len();
    if needed > buffer.capacity() && needed > DOUBLED_BYTES {
        buffer.reserve_exact(bytes.len() + needed / 8);
    }
    buffer.extend_from_slice(bytes);
}

/// Takes what a serializer writes.
#[derive(Default)]
pub(crate) struct Buffer(pub Vec<u8>);

impl std::io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        append(&mut self.0, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_buffer_is_little_larger_than_what_it_holds() {
        let mut buffer = Vec::new();
        let mut grown = 0;
        for n in 0..200u8 {
            let before = buffer.capacity();
            append(&mut buffer, &[n; 10_000]);
            grown += usize::from(buffer.capacity() != before);
            let bound = buffer.len() + buffer.len() / 8;
            assert!(
                buffer.capacity() <= bound.max(2 * DOUBLED_BYTES),
                "{} bytes for {}",
                buffer.capacity(),
                buffer.len()
            );
        }
        assert_eq!(buffer.len(), 2_000_000);
        assert!(grown < 50, "grown {grown} times");
    }
}
