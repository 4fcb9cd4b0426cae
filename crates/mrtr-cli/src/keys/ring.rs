//! A file of keys as text: `AUDIENCE=ID:BASE64[,ID:BASE64…]`, the sealing key first.

use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mrtr_state::{ProcessRandom, Random};

/// The keys of a file that was checked, or of one that is to be made.
pub(super) struct Ring {
    audience: String,
    /// Never empty.
    keys: Vec<(String, String)>,
}

impl Ring {
    pub(super) fn new(audience: &str, id: &str) -> Self {
        Self { audience: audience.to_owned(), keys: vec![(id.to_owned(), secret())] }
    }

    pub(super) fn parse(text: &str) -> Self {
        let (audience, keys) = text.split_once('=').unwrap_or_default();
        let keys = keys.split(',').filter_map(|key| key.trim().split_once(':'));
        let keys = keys.map(|(id, secret)| (id.trim().to_owned(), secret.trim().to_owned())).collect();
        Self { audience: audience.trim().to_owned(), keys }
    }

    pub(super) fn text(&self) -> String {
        let keys: Vec<_> = self.keys.iter().map(|(id, secret)| format!("{id}:{secret}")).collect();
        format!("{}={}", self.audience, keys.join(","))
    }

    pub(super) fn ids(&self) -> Vec<&str> {
        self.keys.iter().map(|(id, _)| id.as_str()).collect()
    }

    /// Adds a key behind the others.
    pub(super) fn add(&mut self) {
        let now = id_of_now();
        let is_known = |id: &String| self.keys.iter().any(|(known, _)| known == id);
        // Two keys may be made within one second.
        let id = std::iter::once(now.clone()).chain((2_u32..).map(|number| format!("{now}-{number}")));
        let id = id.into_iter().find(|id| !is_known(id)).unwrap_or(now);
        self.keys.push((id, secret()));
    }

    /// Puts the newest key, which is the last, first.
    pub(super) fn promote(&mut self) {
        self.keys.rotate_right(1);
    }

    /// Drops all but the first.
    pub(super) fn keep_sealing(&mut self) {
        self.keys.truncate(1);
    }
}

/// A name that says when the key was made.
pub(super) fn id_of_now() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.chars().filter(char::is_ascii_digit).collect()
}

fn secret() -> String {
    let mut bytes = [0; 32];
    ProcessRandom::new().fill(&mut bytes);
    STANDARD.encode(bytes)
}
