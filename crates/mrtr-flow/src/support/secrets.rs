//! Forms that seem to ask for a secret, which is for a page behind a URL (EL-1).

use mrtr_schema::Form;

/// Warns of fields that are named like a secret. A name proves nothing, so the form is asked for all the same; one that
/// is marked as a secret, with the format `password`, is never made.
pub(crate) fn warn_of(form: &Form, type_name: &'static str) {
    for field in form.fields().filter(|field| looks_secret(field.name)) {
        tracing::warn!(
            form = type_name,
            field = field.name,
            "a form asks for what looks like a secret: ask for it by URL"
        );
    }
}

fn looks_secret(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    SECRETS.iter().any(|secret| name.contains(secret))
}

/// Parts of names, in lower case and without what stands between words.
const SECRETS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesstoken",
    "refreshtoken",
    "privatekey",
    "credential",
    "cardnumber",
];

#[cfg(test)]
mod tests {
    use super::looks_secret;

    #[test]
    fn names_are_compared_however_their_words_are_joined() {
        for name in ["password", "Password", "userPassword", "api_key", "apiKey", "API-Key", "client_secret"] {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["name", "key", "token_count", "pass", "passport", "mail", "card"] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
