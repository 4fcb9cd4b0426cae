//! Real tokens for the contract: sealed with a fixed key, opened, and ready to be used.

use std::time::Duration;

use mrtr_schema::{RawMembers, Revision};

use crate::{
    AnswersDigest, Binding, Key, KeyRing, Lifetimes, Opened, Payload, PayloadError, Principal, ProcessRandom, Random,
    Sealer, Timestamp, TokenUse,
};

/// A token that was opened, waiting for answers.
pub(super) struct Token(Opened<Nothing>);

impl Token {
    /// A token that no store has seen: its id is random.
    pub(super) fn fresh(issued: Timestamp) -> Self {
        Self::seal(&sealer("shop"), "ann", issued)
    }

    /// A token that no store has seen, and that lives so long instead of an hour.
    pub(super) fn living(life: Duration, issued: Timestamp) -> Self {
        Self::seal(&sealer("shop").lifetimes(Lifetimes { round: life, ..Lifetimes::default() }), "ann", issued)
    }

    /// Tokens that differ in audience or principal, and in nothing else.
    pub(super) fn doubles(issued: Timestamp) -> [Self; 3] {
        let mut bytes = [0; 64];
        ProcessRandom::new().fill(&mut bytes);
        let [shop, bank] = ["shop", "bank"].map(|audience| sealer(audience).random(SameBytes(bytes)));
        [Self::seal(&shop, "ann", issued), Self::seal(&shop, "bob", issued), Self::seal(&bank, "ann", issued)]
    }

    fn seal(sealer: &Sealer, subject: &str, issued: Timestamp) -> Self {
        let params = RawMembers::parse(r#"{"name": "pay"}"#).expect("it is an object");
        let binding = Binding::new(Revision::Published, "tools/call", &params)
            .expect("the name is a string")
            .principal(Principal { issuer: "https://id.example.com", subject });
        let state = sealer.seal(&Nothing, &binding, issued).expect("it is small, and its flow begins");
        Self(sealer.open(&state, &binding, issued).expect("it was sealed a moment ago"))
    }

    /// When it stops opening.
    pub(super) fn expires(&self) -> Timestamp {
        self.0.expires()
    }

    /// Its use with one answer.
    pub(super) fn answered(&self, answer: &str) -> TokenUse {
        let answers = format!(r#"{{"how": {{"action": "accept", "content": {{"how": "{answer}"}}}}}}"#);
        let answers = RawMembers::parse(&answers).expect("answers of the contract are plain words");
        self.0.token_use(AnswersDigest::of(Some(&answers)).expect("it is small and in order"))
    }
}

fn sealer(audience: &str) -> Sealer {
    let key = Key::new("contract", [7; 32]).expect("the name and the length are right");
    let lifetimes = Lifetimes { round: Duration::from_hours(1), ..Lifetimes::default() };
    Sealer::new(KeyRing::new(key), audience).expect("the audience is short").lifetimes(lifetimes)
}

/// Makes tokens with the same id, which a sealer never does.
struct SameBytes([u8; 64]);

impl Random for SameBytes {
    fn fill(&self, bytes: &mut [u8]) {
        let length = bytes.len();
        bytes.copy_from_slice(&self.0[..length]);
    }
}

struct Nothing;

impl Payload for Nothing {
    const KIND: &'static str = "mrtr/contract";

    fn write(&self, _: &mut Vec<u8>) -> Result<(), PayloadError> {
        Ok(())
    }

    fn read(_: &[u8]) -> Result<Self, PayloadError> {
        Ok(Self)
    }
}
