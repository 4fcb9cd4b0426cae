//! The workspace's README, whose Rust blocks run as doc tests.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
