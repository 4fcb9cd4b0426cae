//! Middleware of a type without `Debug`.

use mrtr_server::extend::Middleware;

struct Audit;

impl Middleware for Audit {}

fn main() {}
