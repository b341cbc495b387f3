//! Lines of a streamed body.
//!
//! Guarantees: a line is returned whole or not at all; a line that is longer than the bound is reported as
//! such and skipped; the buffer shrinks back after a large line.
//! Leaves to others: what a line means.

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt;

use crate::http::buffer::append;

/// What comes next in a body.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// One line without its end.
    Whole(Vec<u8>),
    /// A line longer than the bound; it was skipped.
    TooLong,
    /// The body ended, in the middle of a line where `truncated`.
    End {
        /// The body ended within a line.
        truncated: bool,
    },
}

/// The largest line, bytes: one object with its managedFields and the frame of the event.
pub const LINE_BYTES: usize = 4 << 20;
/// What the buffer shrinks to.
const KEPT_BYTES: usize = 16 << 10;

/// Cuts a body into lines.
pub struct Lines<B> {
    body: B,
    buffer: Vec<u8>,
    /// Where the unread part of the buffer begins.
    start: usize,
    /// How far the unread part is known to hold no line end.
    scanned: usize,
    skipping: bool,
}

impl<B: Body<Data = Bytes> + Unpin> Lines<B> {
    /// The lines of `body`.
    pub fn new(body: B) -> Self {
        Self {
            body,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            skipping: false,
        }
    }

    /// The next line. Nothing is lost when the future is dropped before it is done.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn next(&mut self) -> Result<Line, B::Error> {
        loop {
            if let Some(line) = self.cut() {
                return Ok(line);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        append(&mut self.buffer, data);
                    }
                }
                Some(Err(error)) => return Err(error),
                None => {
                    let truncated = self.start < self.buffer.len() || self.skipping;
                    self.buffer = Vec::new();
                    (self.start, self.scanned, self.skipping) = (0, 0, false);
                    return Ok(Line::End { truncated });
                }
            }
        }
    }

    /// A complete line of what is buffered.
    fn cut(&mut self) -> Option<Line> {
        loop {
            let found = memchr::memchr(b'\n', &self.buffer[self.scanned..]);
            let Some(offset) = found else {
                self.scanned = self.buffer.len();
                if self.buffer.len() - self.start > LINE_BYTES {
                    self.skipping = true;
                }
                self.compact();
                return None;
            };
            let (start, end) = (self.start, self.scanned + offset);
            (self.start, self.scanned) = (end + 1, end + 1);
            if std::mem::take(&mut self.skipping) {
                return Some(Line::TooLong);
            }
            if start < end {
                return Some(Line::Whole(self.take(start, end)));
            }
        }
    }

    /// What stands from `start` to `end`. A large line that is all but alone is not copied.
    fn take(&mut self, start: usize, end: usize) -> Vec<u8> {
        let behind = self.buffer.len() - end;
        if start > 0 || end <= KEPT_BYTES || behind > KEPT_BYTES {
            return self.buffer[start..end].to_vec();
        }
        let rest = self.buffer[end..].to_vec();
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.truncate(end);
        // The end of the line is first in the rest.
        (self.start, self.scanned) = (1, 1);
        line
    }

    fn compact(&mut self) {
        if self.skipping {
            self.buffer.clear();
        } else {
            self.buffer.drain(..self.start);
        }
        (self.start, self.scanned) = (0, self.buffer.len());
        if self.buffer.capacity() > KEPT_BYTES && self.buffer.len() <= KEPT_BYTES {
            self.buffer.shrink_to(KEPT_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    async fn lines(chunks: &[&str]) -> Result<Vec<Line>, std::io::Error> {
        let frames: Vec<_> = chunks
            .iter()
            .map(|chunk| http_body::Frame::data(Bytes::copy_from_slice(chunk.as_bytes())))
            .map(Ok::<_, std::io::Error>)
            .collect();
        let mut lines = Lines::new(http_body_util::StreamBody::new(futures::stream::iter(
            frames,
        )));
        let mut all = Vec::new();
        loop {
            all.push(lines.next().await?);
            if matches!(all.last(), Some(Line::End { .. })) {
                return Ok(all);
            }
        }
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn lines_are_whole_however_they_are_cut() -> Result<(), std::io::Error> {
        let end = Line::End { truncated: false };
        assert_eq!(
            lines(&["a\nb", "c\n", "\nd\n"]).await?,
            [whole("a"), whole("bc"), whole("d"), end]
        );
        assert_eq!(
            lines(&["a\nhalf"]).await?,
            [whole("a"), Line::End { truncated: true }]
        );
        Ok(())
    }

    #[tokio::test]
    async fn a_line_beyond_the_bound_is_skipped_and_the_next_one_is_not()
    -> Result<(), std::io::Error> {
        let long = "x".repeat(LINE_BYTES + 1);
        assert_eq!(
            lines(&[&long, "y\nz\n"]).await?,
            [Line::TooLong, whole("z"), Line::End { truncated: false }]
        );
        Ok(())
    }

    /// The lines of a body in pieces, and the most that was buffered.
    fn read(pieces: Vec<Vec<u8>>) -> (Vec<Line>, usize) {
        let frames = pieces
            .into_iter()
            .map(|piece| Ok(http_body::Frame::data(piece.into())));
        let frames = futures::stream::iter(frames.collect::<Vec<Result<_, std::io::Error>>>());
        let mut lines = Lines::new(http_body_util::StreamBody::new(frames));
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let (mut all, mut most) = (Vec::new(), 0);
        while !matches!(all.last(), Some(Line::End { .. })) {
            let next = runtime.block_on(lines.next());
            all.push(next.expect("the body does not break"));
            most = most.max(lines.buffer.len());
        }
        (all, most)
    }

    proptest! {
        #[test]
        fn any_bytes_are_the_same_lines_wherever_they_are_cut(
            bytes in proptest::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')], 0..300),
            piece in 1..40usize,
        ) {
            let whole = read(vec![bytes.clone()]).0;
            let pieces = bytes.chunks(piece).map(<[u8]>::to_vec).collect();
            prop_assert_eq!(read(pieces).0, whole);
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_held() {
        let piece = vec![b'x'; 64 << 10];
        let pieces = vec![piece; 2 * LINE_BYTES / (64 << 10)];
        let (lines, most) = read(pieces);
        assert_eq!(lines, [Line::End { truncated: true }]);
        assert!(most <= LINE_BYTES + (64 << 10), "{most} bytes");
    }
}
