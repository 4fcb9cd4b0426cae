//! Single use for one process, in memory.

/// placeholder
#[derive(Debug)]
pub struct MemorySingleUse;
