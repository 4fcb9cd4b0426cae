//! The examples, as programs: each does what its header says.

#[path = "../support/promise.rs"]
mod promise;

mod ending;
mod hello;
mod listed;
mod rmcp;
mod shortest;
mod sign_in;
mod testing_a_flow;
