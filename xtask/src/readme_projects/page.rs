//! A page, taken apart: its block of dependencies, and its programs as files.

/// What a reader copies from a page.
pub(super) struct Page<'t> {
    pub(super) dependencies: Option<&'t str>,
    /// Each a file that compiles, if the page is right.
    pub(super) programs: Vec<String>,
}

impl<'t> Page<'t> {
    pub(super) fn read(text: &'t str) -> Self {
        let mut page = Self { dependencies: None, programs: Vec::new() };
        let mut rest = text;
        while let Some((head, body, after)) = next_block(rest) {
            let mut words = head.split(',').map(str::trim);
            match words.next() {
                Some("toml") if body.starts_with("[dependencies]") => page.dependencies = Some(body),
                Some("rust") if !words.any(|word| word == "ignore" || word == "compile_fail") => {
                    page.programs.push(program(body));
                }
                _ => {}
            }
            rest = after;
        }
        page
    }
}

/// What follows the fence, what lies in it, and the rest.
fn next_block(text: &str) -> Option<(&str, &str, &str)> {
    const FENCE: &str = "```";
    let at = if text.starts_with(FENCE) { 0 } else { text.find("\n```")? + 1 };
    let (head, rest) = text[at + FENCE.len()..].split_once('\n')?;
    let end = if rest.starts_with(FENCE) { 0 } else { rest.find("\n```")? + 1 };
    Some((head, &rest[..end], &rest[end + FENCE.len()..]))
}

/// As rustdoc makes a program of an example: hidden lines are shown, and what has no `main` is put into one.
fn program(body: &str) -> String {
    let shown: Vec<_> = body
        .lines()
        .map(|line| match line.trim_start() {
            "#" => "",
            hidden => hidden.strip_prefix("# ").unwrap_or(line),
        })
        .collect();
    let shown = shown.join("\n");
    let allowed = "#![allow(unused, dead_code)]\n";
    if shown.contains("fn main()") {
        return format!("{allowed}{shown}\n");
    }
    format!("{allowed}fn main() {{\n    let _ = || {{\n{shown}\n    }};\n}}\n")
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn a_page_is_its_dependencies_and_its_programs() {
        let text = "# A\n\n```toml\n[dependencies]\nx = \"1\"\n```\n\n```rust\n# use x::Y;\nlet y = Y;\n```\n\
                    ```rust,ignore\nno\n```\n\n```rust,no_run\nfn main() {}\n```\n";
        let page = Page::read(text);
        assert_eq!(page.dependencies, Some("[dependencies]\nx = \"1\"\n"));
        let [fragment, whole] = &page.programs[..] else { panic!("two programs: {:?}", page.programs) };
        assert!(fragment.contains("fn main() {\n    let _ = || {\nuse x::Y;\nlet y = Y;"), "{fragment}");
        assert!(whole.ends_with("fn main() {}\n"), "{whole}");
    }
}
