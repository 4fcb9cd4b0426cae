//! A forked child does not repeat its parent's random numbers.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
fn main() {
    use fork::{Fork, fork, waitpid};
    use mrtr_state::{ProcessRandom, Random};

    let random = ProcessRandom::new();
    let draw = || {
        let mut bytes = [0; 24];
        random.fill(&mut bytes);
        bytes
    };
    let before = draw();
    let folder = tempfile::tempdir().unwrap();
    let drawn_by_child = folder.path().join("child");
    match fork().unwrap() {
        Fork::Child => {
            std::fs::write(drawn_by_child, draw()).unwrap();
            // The folder is the parent's to remove.
            std::process::exit(0);
        }
        Fork::Parent(child) => {
            let own = draw();
            waitpid(child).unwrap();
            let childs = std::fs::read(drawn_by_child).unwrap();
            assert_eq!(childs.len(), own.len());
            assert_ne!(childs, own, "the child repeated its parent's numbers");
            assert_ne!(childs, before);
        }
    }
}
