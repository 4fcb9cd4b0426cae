//! An rmcp server whose tools, prompts and resources are flows.

mod capabilities;
mod flows;
mod handler;
mod lists;
mod message;
mod modern;
mod owners;
mod question;
mod response;
mod session;

pub use flows::{Alone, Flows};
pub use owners::{OwnedSessions, SessionOwners};
