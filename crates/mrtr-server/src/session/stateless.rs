//! A client of the legacy era that has no session: plain tools work, and nothing can be asked.

use async_trait::async_trait;
use mrtr_flow::{Journal, Question, StopSignal, ToolError};

use crate::round::live::{LiveClient, LiveRun, NotAnswered, Wait};

/// A client that cannot be asked.
#[derive(Debug)]
pub(super) struct Stateless {
    pub(super) journal_limit: usize,
}

#[async_trait]
impl LiveClient for Stateless {
    fn run_begins(&self) -> LiveRun {
        LiveRun { stop: StopSignal::new(), journal_limit: self.journal_limit }
    }

    async fn run_ended(&self, _: &Journal) -> Result<(), NotAnswered> {
        Ok(())
    }

    fn unaskable(&self) -> Option<&'static str> {
        Some(REASON)
    }

    async fn ask(&self, _: Vec<Question>, _: &mut Journal, _: Wait) -> Result<(), NotAnswered> {
        Err(NotAnswered::Failed(ToolError::new(REASON).into()))
    }

    async fn pause(&self, _: Wait) -> Result<(), NotAnswered> {
        Err(NotAnswered::Failed(ToolError::new(REASON).into()))
    }
}

const REASON: &str = "this server keeps no sessions in which a client of this protocol version could be asked";
