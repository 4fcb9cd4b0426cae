//! The pages of the guide, taken apart into their blocks, and where each of them is looked for.

use std::fs;
use std::path::Path;

/// A page of the guide.
#[derive(Clone, Copy)]
pub(crate) struct Page {
    /// The path, from the folder `docs`.
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
    /// How its commands begin, each with the test that runs it: a function of this folder or of the crate it is in.
    pub(crate) commands: &'static [(&'static str, &'static str)],
}

pub(crate) const GUIDE: Page = Page {
    path: "GUIDE.md",
    text: include_str!("../../../docs/GUIDE.md"),
    commands: &[
        ("cargo run -p mrtr-examples --bin hello", "hello_asks_twice_and_draws_the_wire_beside_its_questions"),
        ("cargo test -p mrtr-examples --bin testing_a_flow", "an_answer_after_ten_minutes_does_not_count"),
        ("cargo tree -p mrtr-state", "an_sdk_takes_in_as_many_packages_as_the_page_says"),
    ],
};

/// The guide's own page comes first: a block that several pages show is found there.
pub(crate) const PAGES: [Page; 7] = [
    GUIDE,
    Page {
        path: "guide/SERVERS.md",
        text: include_str!("../../../docs/guide/SERVERS.md"),
        commands: &[("curl -s http://127.0.0.1:8000/mcp", "the_lines_for_curl_get_a_prompt")],
    },
    Page { path: "guide/HOSTS.md", text: include_str!("../../../docs/guide/HOSTS.md"), commands: &[] },
    Page {
        path: "guide/DEPLOYMENT.md",
        text: include_str!("../../../docs/guide/DEPLOYMENT.md"),
        commands: &[
            ("export MRTR_STATE_KEYS=\"shop-eu=", "the_key_that_the_page_makes_can_be_used"),
            ("umask 077", "a_copy_of_the_file_by_sqlite_has_all_tasks_and_can_be_restored"),
            ("sqlite3 ", "a_copy_of_the_file_by_sqlite_has_all_tasks_and_can_be_restored"),
            ("rm -f /var/lib/shop/", "a_copy_of_the_file_by_sqlite_has_all_tasks_and_can_be_restored"),
            ("cp /var/backups/shop/", "a_copy_of_the_file_by_sqlite_has_all_tasks_and_can_be_restored"),
            ("pg_dump ", "a_dump_of_postgresql_is_restored_as_it_was"),
            ("pg_restore ", "a_dump_of_postgresql_is_restored_as_it_was"),
        ],
    },
    Page { path: "guide/ERRORS.md", text: include_str!("../../../docs/guide/ERRORS.md"), commands: &[] },
    Page { path: "guide/FAQ.md", text: include_str!("../../../docs/guide/FAQ.md"), commands: &[] },
    Page { path: "guide/METHODS.md", text: include_str!("../../../docs/guide/METHODS.md"), commands: &[] },
];

/// The text between two fences.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) page: Page,
    /// The text behind the first fence.
    pub(crate) tag: &'static str,
    pub(crate) text: &'static str,
    /// The line of the first fence, from 1.
    pub(crate) line: usize,
}

impl Block {
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.text.contains(text)
    }
}

/// All blocks of all pages, in their order.
pub(crate) fn all() -> Vec<Block> {
    PAGES.into_iter().flat_map(of_page).collect()
}

/// The blocks of a page. A fence that is never closed is a mistake, and so is one that is indented: no check would see
/// what lies in it.
fn of_page(page: Page) -> Vec<Block> {
    let Page { path, text, .. } = page;
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize, usize)> = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        match (line.trim_end().strip_prefix(FENCE), open) {
            (Some(tag), None) => open = Some((tag, number + 1, at + line.len())),
            (Some(""), Some((tag, line, from))) => {
                blocks.push(Block { page, tag, text: &text[from..at], line });
                open = None;
            }
            (Some(tag), Some((_, begun, _))) => {
                panic!("{path}:{}: `{tag}` within the block of line {begun}", number + 1)
            }
            (None, None) => assert!(!line.contains(FENCE), "{path}:{}: a fence that is indented", number + 1),
            (None, Some(_)) => {}
        }
        at += line.len();
    }
    assert!(open.is_none(), "{path}: the last block is not closed");
    blocks
}

/// The blocks with this tag.
pub(crate) fn blocks(tag: &'static str) -> impl Iterator<Item = Block> {
    all().into_iter().filter(move |block| block.tag == tag)
}

/// The files that blocks of Rust may stand in: each is compiled, and run by a test or a command of contributors.
pub(crate) fn sources() -> Vec<(String, String)> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = examples.join("tests/guide");
    let folders = [examples.to_owned(), guide.join("host_page"), guide, examples.join("../xtask/peers/src")];
    let mut sources = Vec::new();
    for folder in folders {
        for entry in folder.read_dir().expect("the folder can be read") {
            let path = entry.expect("it can be read").path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&path).expect("it can be read");
                sources.push((path.display().to_string(), without_layout(&source)));
            }
        }
    }
    sources
}

/// The text of all tests that may run a command: those of the examples and of the command line.
pub(crate) fn tests() -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [examples.to_owned(), examples.join("tests"), examples.join("../crates/mrtr-cli/tests")];
    folders.into_iter().map(|folder| rust_below(&folder)).collect()
}

pub(crate) fn rust_below(folder: &Path) -> String {
    let mut text = String::new();
    for entry in folder.read_dir().expect("the folder can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            text += &rust_below(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &fs::read_to_string(&path).expect("it can be read");
        }
    }
    text
}

/// The files of the folder that configurations stand in: tests start servers with them.
pub(crate) fn configurations() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deployment");
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok()).collect()
}

/// Takes the layout away from Rust, so that a page may have its own: spaces, the comma before a closing bracket, and
/// the attribute that keeps a layout.
pub(crate) fn without_layout(rust: &str) -> String {
    let mut bare: String = rust.replace("#[rustfmt::skip]", "").split_whitespace().collect();
    for bracket in ["}", ")", "]"] {
        bare = bare.replace(&format!(",{bracket}"), bracket);
    }
    bare
}

const FENCE: &str = "```";
