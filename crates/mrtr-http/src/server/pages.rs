//! Memory for bodies, by the page.

use memmap2::MmapMut;

use super::rejection::Rejection;

/// Memory that is had from the system and given back to it at once. Allocators keep what they were given back, and so
/// would a server be as large as in its worst minute for as long as it runs.
#[derive(Debug)]
pub(super) struct Pages(MmapMut);

impl Pages {
    /// So many bytes, all zero. Those that are not written take no memory yet.
    pub(super) fn new(bytes: usize) -> Result<Self, Rejection> {
        MmapMut::map_anon(bytes).map(Self).map_err(|error| {
            tracing::error!(%error, bytes, "the system has no memory for a body");
            Rejection::Overloaded
        })
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AsMut<[u8]> for Pages {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
