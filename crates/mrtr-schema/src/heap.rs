//! Measures the memory that a value takes beside its own: for values that a server keeps, and has to bound.

use indexmap::IndexMap;

use crate::json::{Json, JsonObject, Members};
use crate::types::capabilities::{
    ClientCapabilities, ClientTaskRequests, ClientTasksCapability, ElicitationCapability, ElicitationTaskRequests,
    RootsCapability, SamplingCapability, SamplingTaskRequests,
};
use crate::types::request_id::RequestId;

/// A value that can tell how much memory it takes besides its own size.
///
/// It counts what an allocator hands out for the value, which for many short texts is a multiple of their length.
///
/// ```
/// use mrtr_schema::HeapSize;
///
/// let texts: Vec<String> = ["a", "b"].map(str::to_owned).into();
/// assert!(texts.heap_bytes() >= 2 * (size_of::<String>() + 1), "more than their two letters");
/// assert_eq!(String::new().heap_bytes(), 0);
/// ```
pub trait HeapSize {
    /// The bytes of memory that it takes, its own size apart.
    fn heap_bytes(&self) -> usize;
}

/// Returns the memory that an allocator takes for a block of this many bytes, which is rounded up and never very small.
///
/// ```
/// use mrtr_schema::allocated;
///
/// assert_eq!(allocated(0), 0);
/// assert!(allocated(1) > 1 && allocated(1000) >= 1000);
/// ```
#[must_use]
pub const fn allocated(bytes: usize) -> usize {
    if bytes == 0 {
        return 0;
    }
    let rounded = (bytes + size_of::<usize>()).next_multiple_of(2 * size_of::<usize>());
    if rounded < LEAST { LEAST } else { rounded }
}

/// The least that one allocation takes.
const LEAST: usize = 4 * size_of::<usize>();

impl HeapSize for str {
    fn heap_bytes(&self) -> usize {
        allocated(self.len())
    }
}

impl HeapSize for String {
    fn heap_bytes(&self) -> usize {
        allocated(self.capacity())
    }
}

impl HeapSize for bool {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl HeapSize for Json {
    fn heap_bytes(&self) -> usize {
        self.as_str().heap_bytes()
    }
}

impl HeapSize for JsonObject {
    fn heap_bytes(&self) -> usize {
        self.as_str().heap_bytes()
    }
}

impl HeapSize for RequestId {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Integer(_) => 0,
            Self::String(text) => text.heap_bytes(),
        }
    }
}

impl<T: HeapSize> HeapSize for Option<T> {
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, HeapSize::heap_bytes)
    }
}

impl<T: HeapSize> HeapSize for Vec<T> {
    fn heap_bytes(&self) -> usize {
        allocated(self.capacity() * size_of::<T>()) + self.iter().map(HeapSize::heap_bytes).sum::<usize>()
    }
}

impl<K: HeapSize, V: HeapSize> HeapSize for IndexMap<K, V> {
    fn heap_bytes(&self) -> usize {
        // A list of entries, each with its hash, and a table of places in that list, an eighth of which stays free.
        let list = self.capacity() * size_of::<(usize, K, V)>();
        let table = (self.capacity() * 8 / 7).next_power_of_two() * (size_of::<usize>() + 1);
        let entries = self.iter().map(|(key, value)| key.heap_bytes() + value.heap_bytes());
        allocated(list) + if self.capacity() == 0 { 0 } else { allocated(table) } + entries.sum::<usize>()
    }
}

impl HeapSize for Members {
    fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |members| allocated(size_of_val(&**members)) + members.heap_bytes())
    }
}

/// The sum over all members of a type.
macro_rules! heap_size {
    ($($name:ident { $($member:ident),* })*) => {$(
        impl HeapSize for $name {
            fn heap_bytes(&self) -> usize {
                let Self { $($member),* } = self;
                0 $(+ $member.heap_bytes())*
            }
        }
    )*};
}

heap_size! {
    ClientCapabilities { elicitation, sampling, roots, tasks, extensions, experimental, extra }
    ElicitationCapability { form, url, extra }
    SamplingCapability { context, tools, extra }
    RootsCapability { list_changed, extra }
    ClientTasksCapability { list, cancel, requests, extra }
    ClientTaskRequests { elicitation, sampling, extra }
    ElicitationTaskRequests { create, extra }
    SamplingTaskRequests { create_message, extra }
}
