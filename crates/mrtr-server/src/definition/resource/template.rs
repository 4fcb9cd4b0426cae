//! URI templates, matched: the plain part of RFC 6570.

use crate::error::TemplateError;

/// A template taken apart.
#[derive(Debug)]
pub(super) struct UriTemplate(Vec<Part>);

#[derive(Debug)]
enum Part {
    Literal(String),
    Variable {
        name: String,
        /// True if its value may contain slashes.
        any: bool,
    },
}

impl UriTemplate {
    pub(super) fn parse(template: &str) -> Result<Self, TemplateError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            let (literal, from_brace) = rest.split_at(at);
            let inside = from_brace.strip_prefix('{').ok_or(TemplateError::Unbalanced)?;
            let (variable, after) = inside.split_once('}').ok_or(TemplateError::Unbalanced)?;
            let (name, any) = variable.strip_prefix('+').map_or((variable, false), |name| (name, true));
            if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
                return Err(TemplateError::Variable(variable.to_owned()));
            }
            if parts.iter().any(|part| matches!(part, Part::Variable { name: taken, .. } if taken == name)) {
                return Err(TemplateError::Duplicate(name.to_owned()));
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            } else if matches!(parts.last(), Some(Part::Variable { .. })) {
                return Err(TemplateError::Adjacent(name.to_owned()));
            }
            parts.push(Part::Variable { name: name.to_owned(), any });
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// Returns true if some absolute URI matches: its scheme stands in the template, or is for a variable to fill in.
    pub(super) fn matches_absolute(&self) -> bool {
        match self.0.as_slice() {
            [] => false,
            [Part::Literal(only)] => is_absolute(only),
            // `bugs:{id}` is absolute once the variable is filled in.
            [Part::Literal(first), ..] => is_absolute(&format!("{first}-")),
            [Part::Variable { .. }, ..] => true,
        }
    }

    /// The names of its variables.
    pub(super) fn variables(&self) -> Vec<&str> {
        let named = self.0.iter().filter_map(|part| match part {
            Part::Variable { name, .. } => Some(&**name),
            Part::Literal(_) => None,
        });
        named.collect()
    }

    /// The variables' values, if the URI matches the template.
    pub(super) fn matches(&self, uri: &str) -> Option<Vec<(String, String)>> {
        let mut values = Vec::new();
        let mut rest = uri;
        for (place, part) in self.0.iter().enumerate() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable { name, any } => {
                    let end = match &self.0[place + 1..] {
                        // The URI must end with the last literal of the template, wherever else that literal may stand.
                        [Part::Literal(literal)] => rest.strip_suffix(literal.as_str())?.len(),
                        [Part::Literal(literal), ..] if *any => rest.rfind(literal.as_str())?,
                        [Part::Literal(literal), ..] => {
                            let first = rest.chars().next()?.len_utf8();
                            first + rest[first..].find(literal.as_str())?
                        }
                        _ => rest.len(),
                    };
                    let (value, after) = rest.split_at(end);
                    if value.is_empty() || (!any && value.contains('/')) {
                        return None;
                    }
                    values.push((name.clone(), decoded(value)?));
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

/// Returns true if a URI begins with a scheme, and something follows it.
pub(super) fn is_absolute(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, rest)| {
        let of_a_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(of_a_scheme)
            && !rest.is_empty()
            && !uri.contains(|letter: char| letter.is_whitespace() || letter.is_control())
    })
}

/// The text behind percent signs.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            let digits =
                std::str::from_utf8(digits).ok().filter(|digits| digits.chars().all(|d| d.is_ascii_hexdigit()))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
