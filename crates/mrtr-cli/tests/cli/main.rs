//! The `mrtr` command as a person and as a script meet it: the built program, real servers, a pseudo-terminal.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod asking;
mod bank;
mod demo;
mod errors;
mod help;
mod kept;
mod keys;
mod person;
mod postgres;
mod program;
mod putting_down;
mod saved_files;
mod scripts;
mod serving;
mod state;
mod stub;
mod tasks;
mod validate;
