//! Every example has a header that says how to run it, a log, and a row in the table.

use std::path::Path;

/// The library, which is the README's page.
const NO_EXAMPLES: [&str; 1] = ["readme"];

/// One asks on the terminal, where a log would stand between its questions; of the other, tests look at all of stderr.
const WITHOUT_LOG: [&str; 2] = ["stdio_server", "terminal_client"];

#[test]
fn every_example_says_how_it_is_run_and_shows_its_log_and_is_listed() {
    let table = include_str!("../../README.md");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut listed = 0;
    for entry in folder.read_dir().expect("the folder can be read") {
        let path = entry.expect("it can be read").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("its name is text");
        if path.extension().is_none_or(|extension| extension != "rs") || NO_EXAMPLES.contains(&name) {
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("it can be read");
        let header: String = source.lines().take_while(|line| line.starts_with("//!")).collect();
        assert!(header.contains(&format!("-p mrtr-examples --bin {name}")), "{name}: how?");
        let logs = ["mrtr::init_logging();", "tracing_subscriber::fmt()"];
        assert!(WITHOUT_LOG.contains(&name) || logs.iter().any(|log| source.contains(log)), "{name} logs nothing");
        let row = format!("| [`{name}`]({name}.rs) |");
        assert!(table.contains(&row), "the table has no row that begins {row}");
        listed += 1;
    }
    assert_eq!(table.lines().filter(|line| line.starts_with("| [`")).count(), listed, "of examples that are there");
}
