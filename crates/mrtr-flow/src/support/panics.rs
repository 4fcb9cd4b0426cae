//! Panics as errors: what runs code of others tells of them, and goes on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The message of a panic.
#[derive(Debug)]
pub struct Panicked(pub String);

/// Runs something, and has its panic as an error.
pub fn contain<R>(run: impl FnOnce() -> R) -> Result<R, Panicked> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = message(&*panic).to_owned();
        // What a panic carries may itself panic when it is dropped; then it is not dropped at all.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(again);
        }
        Panicked(text)
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}
