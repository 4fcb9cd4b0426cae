//! Answering what strangers send, under libFuzzer: the body is that of the property test.

#![no_main]

#[path = "../../tests/fuzz_respond/body.rs"]
mod body;

use std::{env, fs, path::Path};

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: write_seeds(), |input: &[u8]| {
    body::check(input);
});

/// Puts the seeds into the corpus, which is the folder that libFuzzer is told of first.
fn write_seeds() {
    let Some(corpus) = env::args().skip(1).find(|argument| Path::new(argument).is_dir()) else { return };
    for (number, seed) in body::seeds().into_iter().enumerate() {
        let path = Path::new(&corpus).join(format!("seed-{number:02}"));
        fs::write(path, seed).expect("the corpus can be written to");
    }
}
