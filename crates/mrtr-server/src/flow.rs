//! Everything that a flow gives its handler: questions, steps and information. It is mrtr-flow's, with what a server
//! adds.

// The reason that a cancelled flow gets.
pub use mrtr_flow::StopReason;
pub use mrtr_flow::flow::{
    AnswerMode, Answered, Ask, AskUntil, Branch, FormQuestion, FormType, FullAnswer, Join, JoinAll, Joinable,
    NamespacedQuestion, Optional, QuestionKind, Race, Race2, Race3, Race4, Racing, Required, Retry, RootsQuestion,
    SamplingQuestion, SamplingTools, Scope, Step, StepResult, StepValue, StepWork, ToolLoop, ToolOutput, UrlAsk,
    UrlUntil,
};

pub use crate::support::changes::{Changes, FlowChanges};
