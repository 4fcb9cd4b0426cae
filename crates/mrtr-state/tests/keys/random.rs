//! Randomness, on which nonces and ids rest.

use mrtr_state::{ProcessRandom, Random};

#[test]
fn randomness_does_not_repeat() {
    let random = ProcessRandom::new();
    let other = ProcessRandom::default();
    let mut drawn: Vec<[u8; 24]> = (0..2000)
        .map(|number| {
            let mut bytes = [0; 24];
            if number % 2 == 0 { &random } else { &other }.fill(&mut bytes);
            bytes
        })
        .collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 2000);
}
