//! Texts, requests and moments that must be refused, made from a token that opens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::file::{Given, NamedKey, Refused, Request, Token, Who, unhex};
use crate::inputs::ORDER;
use crate::reference;

pub(crate) fn refusals(letter: char, tokens: &[Token]) -> Vec<Refused> {
    let token = &tokens[0];
    [spellings(letter, token, tokens), insides(letter, token), moments(token), bindings(token)].concat()
}

/// The token's own case, to be changed in one thing.
fn case(name: &str, reason: &str, token: &Token) -> Refused {
    let Token { given, gives, .. } = token.clone();
    Refused {
        name: name.into(),
        reason: reason.into(),
        token: gives.token,
        key: given.key,
        request: given.request,
        kind: given.kind,
        now: given.issued,
        reject_issued_before: None,
    }
}

fn spellings(letter: char, token: &Token, tokens: &[Token]) -> Vec<Refused> {
    let text = &token.gives.token;
    let header = token.gives.header.len();
    let other_letter = if letter == 'x' { 's' } else { 'x' };
    let others = reference::seal(other_letter, &token.given).token;
    let spelt = |name, reason, text| Refused { token: text, ..case(name, reason, token) };
    let stray = tokens.iter().find(|token| (token.gives.token.len() - token.gives.header.len()) % 4 == 2).unwrap();
    vec![
        spelt("nothing", "malformed", String::new()),
        spelt("the header alone", "malformed", text[..header].into()),
        spelt("one byte less", "forged", bytes_changed(text, header, |sealed| sealed.truncate(sealed.len() - 1))),
        spelt("one byte more", "forged", bytes_changed(text, header, |sealed| sealed.push(0))),
        spelt("padded", "malformed", format!("{text}=")),
        spelt("a space behind it", "malformed", format!("{text} ")),
        spelt("a line break in it", "malformed", format!("{}\n{}", &text[..60], &text[60..])),
        spelt("the first sealed character is another", "forged", replaced(text, header)),
        spelt("the last sealed character is another", "forged", replaced(text, text.len() - 40)),
        spelt("the nonce is another", "forged", replaced(text, text.len() - 8)),
        Refused { token: last_bit_set(&stray.gives.token), ..case("stray bits at the end", "malformed", stray) },
        spelt("another version", "malformed", text.replacen("mrtr1", "mrtr2", 1)),
        spelt("another key's name", "unknown_key", text.replacen(".2026-11.", ".2026-12.", 1)),
        spelt("no key's name", "malformed", text.replacen(".2026-11.", "..", 1)),
        spelt("sealed by the other codec", "malformed", others.clone()),
        spelt("sealed by the other codec, under this one's letter", "forged", {
            others.replacen(&format!("mrtr1{other_letter}"), &format!("mrtr1{letter}"), 1)
        }),
        Refused {
            key: NamedKey { base64: "/////////////////////////////////////////w8=".into(), ..token.given.key.clone() },
            ..case("the same name, another secret", "forged", token)
        },
    ]
}

/// The text of other bytes after the header.
fn bytes_changed(text: &str, header: usize, change: fn(&mut Vec<u8>)) -> String {
    let mut sealed = URL_SAFE_NO_PAD.decode(&text[header..]).unwrap();
    change(&mut sealed);
    format!("{}{}", &text[..header], URL_SAFE_NO_PAD.encode(sealed))
}

/// Another character of the alphabet in this place.
fn replaced(text: &str, at: usize) -> String {
    let another = if &text[at..=at] == "A" { "B" } else { "A" };
    format!("{}{another}{}", &text[..at], &text[at + 1..])
}

/// The last character is one that decodes to the same bytes where stray bits are not looked at.
fn last_bit_set(text: &str) -> String {
    let (rest, last) = text.split_at(text.len() - 1);
    let next = ALPHABET.chars().cycle().skip_while(|character| !last.contains(*character)).nth(1).unwrap();
    format!("{rest}{next}")
}

const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Sealed with the right key, and not what this version writes.
fn insides(letter: char, token: &Token) -> Vec<Refused> {
    let given = &token.given;
    let claims = reference::claims(given);
    let sealed = |name, message: &[u8]| Refused {
        token: reference::token(letter, &given.key, &unhex(&given.nonce), message),
        ..case(name, "unknown_format", token)
    };
    let with = |at: usize, byte: u8| {
        let mut changed = claims.clone();
        changed[at] = byte;
        changed
    };
    let begun = |ago: &[u8]| [&claims[..ROUND - 1], ago, &claims[ROUND..]].concat();
    vec![
        sealed("nothing inside", b""),
        sealed("format 1", &with(0, 1)),
        sealed("format 3", &with(0, 3)),
        sealed("revision 0", &with(1, 0x30)),
        sealed("revision 4", &with(1, 0x34)),
        sealed("a presence bit that has no meaning", &with(1, 0x73)),
        sealed("a number with a group too many", &[&claims[..ROUND], &[0x81, 0], &claims[ROUND + 1..]].concat()),
        sealed("a number of eight groups", &[&claims[..ROUND], &[0xff; 7], &claims[ROUND..]].concat()),
        sealed("a flow that began before 1970", &begun(&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])),
        sealed("a flow that begins after the last moment", &begun(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])),
        sealed("claims that end early", &claims[..claims.len() - 1]),
        sealed("a text that is longer than what is left", &with(TENANT, 0x7f)),
        sealed("a text that is not UTF-8", &with(TENANT + 1, 0xff)),
    ]
}

/// The place of the round, behind two numbers of four bytes and one of one.
const ROUND: usize = 40 + 4 + 4 + 1;
/// The place where the tenant begins, behind the digest of the principal.
const TENANT: usize = ROUND + 1 + 16;

fn moments(token: &Token) -> Vec<Refused> {
    let Given { issued, expires, ends, .. } = token.given;
    let at = |name, reason, now| Refused { now, ..case(name, reason, token) };
    vec![
        at("at the moment it expires", "expired", expires),
        at("at the moment its flow ends", "flow_ended", ends),
        at("a millisecond more than a minute before it was issued", "from_the_future", issued - 60_001),
        Refused {
            reject_issued_before: Some(issued + 1),
            ..case("issued a millisecond before the cut-off", "before_cut_off", token)
        },
    ]
}

fn bindings(token: &Token) -> Vec<Refused> {
    let bound = |name, reason, change: fn(&mut Request)| {
        let mut changed = case(name, reason, token);
        change(&mut changed.request);
        changed
    };
    vec![
        bound("another audience", "other_audience", |request| request.audience = "tracker-us".into()),
        bound("another tenant", "other_tenant", |request| request.tenant = Some("acme2".into())),
        bound("no tenant", "other_tenant", |request| request.tenant = None),
        bound("another subject", "other_principal", |request| {
            request.principal = Some(Who { issuer: "https://id.example.com".into(), subject: "bob".into() });
        }),
        bound("the boundary of issuer and subject moved", "other_principal", |request| {
            request.principal = Some(Who { issuer: "https://id.example.coma".into(), subject: "nn".into() });
        }),
        bound("no principal", "other_principal", |request| request.principal = None),
        bound("another revision", "other_revision", |request| request.revision = "sep-2322".into()),
        bound("another method", "other_method", |request| request.method = "prompts/get".into()),
        bound("another name", "other_name", |request| request.params = request.params.replace("pay", "grant")),
        bound("another argument", "other_params", |request| request.params = request.params.replace("100", "101")),
        bound("a key twice", "other_params", |request| {
            request.params = request.params.replace(r#""amount":100"#, r#""amount":100,"amount":100"#);
        }),
        Refused { kind: ORDER.into(), ..case("another kind of payload", "other_kind", token) },
    ]
}
