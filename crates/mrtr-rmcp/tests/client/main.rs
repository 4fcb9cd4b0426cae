//! Our client's loop over rmcp's client: three rounds on a server by hand, and calls that are saved and resumed.

mod desk;
mod numbers;
mod pending;
mod rounds;
