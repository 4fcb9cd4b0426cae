//! The rules for the names of tools and prompts.

use crate::error::BuildError;

/// Refuses a name that no client can call. Warns the operator of one that some clients may refuse: the specification
/// only recommends which letters a name has.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), BuildError> {
    let refused = |reason| Err(BuildError::Name { what, name: name.to_owned(), reason });
    if name.is_empty() {
        return refused("the name is empty");
    }
    if name.chars().any(char::is_control) {
        return refused("the name has control characters");
    }
    if !is_recommended(name) {
        tracing::warn!(
            name = name.escape_debug().to_string(),
            "clients may refuse the name of this {what}: use 1 to 128 of A-Z a-z 0-9 _ - ."
        );
    }
    Ok(())
}

/// Returns true for a name as the specification recommends it. Some clients refuse every other.
pub(crate) fn is_recommended(name: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    (1..=128).contains(&name.len()) && name.chars().all(allowed)
}
