//! The inputs that the vectors are made from.

use crate::file::{Given, NamedKey, Request, Who};

pub(crate) const NOTE: &str = "com.example/note";
pub(crate) const ORDER: &str = "com.example/order";
const NOON: u64 = 1_785_240_000_000;
const HOUR: u64 = 3_600_000;

/// A name and what is sealed. The first has everything; the last one's text has no stray bits at its end.
pub(crate) fn inputs() -> [(&'static str, Given); 4] {
    [
        ("a tool call by a principal of a tenant", full()),
        ("a resource, for nobody in particular", bare()),
        ("the third round of a prompt, beyond ASCII", third_round()),
        ("nothing but the least", least()),
    ]
}

fn full() -> Given {
    Given {
        key: key("2026-11", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        request: Request {
            audience: "tracker-eu".into(),
            revision: "2026-07-28".into(),
            method: "tools/call".into(),
            params: r#"{"name":"pay","arguments":{"to":"Ann","amount":100},"_meta":{"progressToken":1}}"#.into(),
            principal: Some(Who { issuer: "https://id.example.com".into(), subject: "ann".into() }),
            tenant: Some("acme".into()),
        },
        kind: NOTE.into(),
        payload: r#"{"text":"buy tea"}"#.into(),
        handler_version: "1.4.0".into(),
        flow: "101112131415161718191a1b1c1d1e1f".into(),
        round: 1,
        started: NOON,
        ends: NOON + 24 * HOUR,
        issued: NOON,
        expires: NOON + HOUR,
        nonce: "404142434445464748494a4b4c4d4e4f5051525354555657".into(),
    }
}

/// Its flow was begun by an instance whose clock is half a minute ahead.
fn bare() -> Given {
    Given {
        request: Request {
            method: "resources/read".into(),
            params: r#"{"uri":"file:///notes/today.md"}"#.into(),
            principal: None,
            tenant: None,
            ..full().request
        },
        handler_version: String::new(),
        flow: "ffeeddccbbaa99887766554433221100".into(),
        started: NOON + HOUR / 120,
        ends: NOON + HOUR / 120 + 24 * HOUR,
        nonce: "000000000000000000000000000000000000000000000001".into(),
        ..full()
    }
}

/// Its key is longer than 32 bytes and in both alphabets at once, as it were.
fn third_round() -> Given {
    Given {
        key: key("k_2", "+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+w=="),
        request: Request {
            audience: "суд".into(),
            revision: "sep-2322".into(),
            method: "prompts/get".into(),
            params: r#"{"arguments":{"\u00fcber":"\ud83c\udf6a","list":[1.50,-0,true,null]},"name":"gr\u00fc\u00dfe"}"#
                .into(),
            principal: Some(Who { issuer: String::new(), subject: "アン".into() }),
            tenant: Some(String::new()),
        },
        payload: "🍪".into(),
        handler_version: "β".into(),
        round: 3,
        started: NOON,
        ends: NOON + 10 * HOUR,
        issued: NOON + 9 * HOUR + HOUR / 2,
        expires: NOON + 10 * HOUR,
        ..full()
    }
}

fn least() -> Given {
    Given {
        key: key("k", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
        request: Request {
            audience: "a".into(),
            revision: "draft-2026-02".into(),
            method: String::new(),
            params: "{}".into(),
            principal: None,
            tenant: None,
        },
        payload: String::new(),
        handler_version: String::new(),
        flow: "0".repeat(32),
        started: 0,
        ends: 2,
        issued: 0,
        expires: 1,
        nonce: "0".repeat(48),
        ..full()
    }
}

fn key(id: &str, base64: &str) -> NamedKey {
    NamedKey { id: id.into(), base64: base64.into() }
}
