//! Compiler messages about `#[data]`: each mistake is a file of this package's own.

#[path = "../../mrtr-server/tests/compile_fail.rs"]
mod compared;
