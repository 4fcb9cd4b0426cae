//! Names of questions and steps: the journal keeps its entries under them, and people read them in logs.

/// Returns true if this can name a question, a step or a race: 1 to 128 printable characters.
pub(crate) fn is_name(name: &str) -> bool {
    // Most are short, and of letters that take a byte each.
    if name.len() <= LONGEST && name.bytes().fold(true, |plain, byte| plain & (b' '..=b'~').contains(&byte)) {
        return !name.is_empty();
    }
    (1..=LONGEST).contains(&name.chars().count()) && name.chars().all(is_printable)
}

/// Returns a name under a prefix. No other division into scopes and names gives the same text. A name without a slash
/// stays as it is.
pub(crate) fn in_scopes(prefix: &str, name: &str) -> String {
    if name.contains('/') { format!("{prefix}{}", name.replace('/', SLASH)) } else { format!("{prefix}{name}") }
}

/// Returns the name in its older form, which did not tell its slashes from those between scopes; `None` if it has none.
pub(crate) fn unescaped(name: &str) -> Option<String> {
    // Nearly none has a slash, and to look for a letter is cheaper than to look for a text.
    let has_slash = name.bytes().any(|byte| byte == b'/');
    (has_slash && name.contains(SLASH)).then(|| name.replace(SLASH, "/"))
}

/// Returns true if a reader sees the character where it stands. Two names that differ only in an unseen character look
/// alike and would be two entries; a character that turns the direction of writing makes a log show what is not there;
/// a noncharacter is none at all.
fn is_printable(char: char) -> bool {
    !char.is_control() && !is_ignorable(char) && !is_noncharacter(char) && !matches!(char, '\u{2028}' | '\u{2029}')
}

/// Returns true for Unicode's `Default_Ignorable_Code_Point`, with the marks of interlinear annotation: zero-width
/// characters, those that set the direction of writing, fillers, variation selectors and tags.
fn is_ignorable(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true for the last two code points of each plane, and 32 others.
fn is_noncharacter(char: char) -> bool {
    let code = u32::from(char);
    code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code)
}

/// The text for a slash in a name. Between scopes stands a slash alone.
const SLASH: &str = "//~";

/// The length of the longest name, in characters.
const LONGEST: usize = 128;
