//! The methods of the protocol: facts about each, its parameters and its result.

mod info;
mod notifications;
mod requests;

use std::fmt;

use crate::messages::jsonrpc::{Request, Response};
use crate::revision::Feature;
use crate::types::params::Params;
use crate::wire::Wire;

pub use info::MethodInfo;
pub use notifications::*;
pub use requests::*;

/// A method that one side calls and the other answers.
///
/// ```
/// use mrtr_schema::methods::{RequestMethod, CallTool};
///
/// assert_eq!(CallTool::METHOD, "tools/call");
/// ```
pub trait RequestMethod: fmt::Debug + Clone + PartialEq + 'static {
    /// The method's name on the wire.
    const METHOD: &'static str;
    /// The name of the request's definition.
    const REQUEST: &'static str;
    /// The name of the response's definition.
    const RESPONSE: &'static str;
    /// The feature that a revision must have for this method to exist in it; `None` if every revision has it.
    const WHEN: Option<Feature>;
    /// The parameters of the request.
    type Params: Params;
    /// The result of the request.
    type Result: Wire;
}

/// A method that wants no answer.
///
/// ```
/// use mrtr_schema::methods::{NotificationMethod, Progress};
///
/// assert_eq!(Progress::METHOD, "notifications/progress");
/// ```
pub trait NotificationMethod: fmt::Debug + Clone + PartialEq + 'static {
    /// The method's name on the wire.
    const METHOD: &'static str;
    /// The name of the notification's definition.
    const NAME: &'static str;
    /// The feature that a revision must have for this method to exist in it; `None` if every revision has it.
    const WHEN: Option<Feature>;
    /// The parameters of the notification.
    type Params: Params;
}

/// A visitor that is shown each method in turn.
pub(crate) trait RequestVisitor {
    fn visit<M: RequestMethod>(&mut self)
    where
        Request<M>: Wire,
        Response<M>: Wire;
}

/// A visitor that is shown each notification in turn.
pub(crate) trait NotificationVisitor {
    fn visit<M: NotificationMethod>(&mut self);
}
