//! What the servers of the matrix ask, in the words in which the harness looks for it.

pub(super) const WHO: &str = "Who are you?";
pub(super) const LOGIN: &str = "Please provide your GitHub username";
pub(super) const CAPITAL: &str = "What is the capital of France?";
pub(super) const CAPITAL_TOKENS: u16 = 100;
pub(super) const LANGUAGE: &str = "Which language?";
pub(super) const NOTEBOOK: &str = "Which notebook?";
pub(super) const CONNECT: &str = "Connect your account";
/// No client fetches it.
pub(super) const CONNECT_URL: &str = "http://127.0.0.1:9/connect";
pub(super) const ECHO: &str = "What shall I echo?";
