//! rmcp's own client and flows that an rmcp server serves: in both lifecycles, over HTTP and over streams.

mod beside;
mod callers;
mod cancelling;
mod hostile;
mod notifications;
mod person;
mod rounds;
mod single_use;
mod sites;
mod subscriptions;
mod tasks;
