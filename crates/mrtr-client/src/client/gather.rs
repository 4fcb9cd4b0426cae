//! Having the questions of one round answered, all at the same time.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use mrtr_schema::InputRequest;

use super::drive::CallDriver;
use crate::handlers::{QuestionContext, Unanswered};
use crate::{AnswerError, CallError, CallErrorKind, EventKind};

impl CallDriver<'_> {
    /// Has all questions of a round answered. If one is not, the others are cancelled.
    pub(super) async fn gather(&mut self, questions: Vec<(String, InputRequest)>) -> Result<(), CallError> {
        self.reporter.emit(EventKind::Asked(questions.iter().map(|(key, _)| key.clone()).collect()));
        match self.client.0.limits.gathering {
            None => self.gather_all(questions).await,
            Some(limit) => {
                let gathered = tokio::time::timeout(limit, self.gather_all(questions)).await;
                gathered.unwrap_or_else(|_| Err(CallErrorKind::GatheringTooLong.of(self.pending())))
            }
        }
    }

    async fn gather_all(&mut self, questions: Vec<(String, InputRequest)>) -> Result<(), CallError> {
        let client = self.client;
        let revision = self.call.pending().revision();
        let answering = questions.into_iter().map(|(key, request)| {
            let context = self.question_context(key.clone());
            async move {
                let method = request.method().to_owned();
                (key, method, client.0.handlers.answer(request, context, revision).await)
            }
        });
        let mut answering: FuturesUnordered<_> = answering.collect();
        while let Some((key, method, answered)) = answering.next().await {
            let taken = match answered {
                Ok(answer) => self.call.answered(&key, &answer),
                Err(Unanswered::Unknown) => self.call.skipped(&key),
                Err(unanswered) => return Err(self.unanswered(key, method, unanswered)),
            };
            taken.map_err(|error| CallErrorKind::InvalidAnswer { error }.of(self.pending()))?;
            if self.call.pending().answers.contains_key(&key) {
                self.reporter.emit(EventKind::Answered(key));
            }
        }
        Ok(())
    }

    fn question_context(&self, key: String) -> QuestionContext {
        self.context_of(key, self.call.pending().rounds())
    }

    /// Who asks, in which round.
    pub(super) fn context_of(&self, key: String, round: u32) -> QuestionContext {
        QuestionContext {
            server: Arc::clone(&self.client.0.server_name),
            call: self.reporter.call,
            method: self.reporter.method().to_owned(),
            name: self.reporter.name().map(str::to_owned),
            round,
            key,
        }
    }

    pub(super) fn unanswered(&self, key: String, method: String, unanswered: Unanswered) -> CallError {
        let kind = match unanswered {
            Unanswered::NoHandler(handler) => CallErrorKind::NoHandler { key, method, handler },
            Unanswered::Unknown => CallErrorKind::NoHandler { key, method, handler: "on_input" },
            Unanswered::BadQuestion(source) => CallErrorKind::BadQuestion { key, source },
            Unanswered::Failed(source) => match source.downcast::<AnswerError>() {
                Ok(error) => CallErrorKind::InvalidAnswer { error: *error },
                Err(source) => CallErrorKind::NotAnswered { key, source },
            },
        };
        kind.of(self.pending())
    }
}
