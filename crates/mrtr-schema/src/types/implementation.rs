//! The name, version and looks of a client or server.

use mrtr_macros::Wire;

use crate::json::Members;
use crate::revision::Feature;

/// A client or server, as it introduces itself.
///
/// ```
/// use mrtr_schema::Implementation;
///
/// let tracker = Implementation::new("tracker", "1.4.0");
/// assert_eq!(serde_json::to_string(&tracker)?, r#"{"name":"tracker","version":"1.4.0"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "Implementation")]
#[non_exhaustive]
pub struct Implementation {
    /// A name for programs.
    pub name: String,
    /// Its version.
    pub version: String,
    /// A name for people.
    pub title: Option<String>,
    /// A description of what it does.
    #[wire(when = Feature::ImplementationDetails)]
    pub description: Option<String>,
    /// The address of a page to read more about it.
    #[wire(format = "uri", when = Feature::ImplementationDetails)]
    pub website_url: Option<String>,
    /// Pictures of it for user interfaces.
    #[wire(when = Feature::Icons)]
    pub icons: Option<Vec<Icon>>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A picture for user interfaces.
///
/// ```
/// use mrtr_schema::Icon;
/// use mrtr_schema::implementation::IconTheme;
///
/// let mut icon = Icon::new("https://example.com/weather.png");
/// icon.theme = Some(IconTheme::Dark);
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "Icon", when = Feature::Icons)]
#[non_exhaustive]
pub struct Icon {
    /// The address of the picture: an `https:` or `data:` URI.
    #[wire(format = "uri")]
    pub src: String,
    /// The media type, where the server's answer would not tell it.
    pub mime_type: Option<String>,
    /// Its sizes, such as `48x48`, or `any`.
    pub sizes: Option<Vec<String>>,
    /// The background that the picture was drawn for.
    pub theme: Option<IconTheme>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The background that an icon was drawn for.
///
/// ```
/// use mrtr_schema::Icon;
/// use mrtr_schema::implementation::IconTheme;
///
/// let icon: Icon = serde_json::from_str(r#"{"src": "https://example.com/sun.png", "theme": "light"}"#)?;
/// assert_eq!(icon.theme, Some(IconTheme::Light));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Wire)]
#[non_exhaustive]
pub enum IconTheme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}
