//! URI templates, matched: the plain part of RFC 6570.

/// A template taken apart.
#[derive(Debug)]
pub(super) struct UriTemplate(Vec<Part>);

#[derive(Debug)]
enum Part {
    Literal(String),
    Variable {
        name: String,
        /// Whether it may span slashes.
        any: bool,
    },
}

/// Why a text is not a template that URIs can be matched against.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A brace is not closed, or not opened.
    #[error("a brace stands alone")]
    Unbalanced,
    /// A variable is of a kind that cannot be matched.
    #[error("`{{{0}}}` cannot be matched: a variable is a name, or a plus and a name")]
    Variable(String),
    /// Nothing stands between two variables, so nobody can tell where one ends.
    #[error("`{0}` follows another variable at once")]
    Adjacent(String),
    /// Two variables of one name.
    #[error("there are two variables `{0}`")]
    Duplicate(String),
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

    /// The variables' values, if the URI is one of the template's.
    pub(super) fn matches(&self, uri: &str) -> Option<Vec<(String, String)>> {
        let mut values = Vec::new();
        let mut rest = uri;
        let mut parts = self.0.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable { name, any } => {
                    let end = match parts.peek() {
                        Some(Part::Literal(literal)) if *any => rest.rfind(literal.as_str())?,
                        Some(Part::Literal(literal)) => rest.find(literal.as_str())?,
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

/// The text behind percent signs.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
