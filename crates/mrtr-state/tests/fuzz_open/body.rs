//! The body of the fuzz target for `Sealer::open`, and of the property test beside it.
//!
//! The first byte of an input says what the rest is tried as.

mod fixture;
mod inside;
mod mutation;
mod params;
mod request;
mod respell;
mod text;

/// Panics where something that must hold does not.
pub(crate) fn check(input: &[u8]) {
    let Some((part, rest)) = input.split_first() else { return };
    match part % 5 {
        0 => text::any(rest),
        1 => text::changed(rest),
        2 => request::changed(rest),
        3 => inside::any(rest),
        _ => params::any(rest),
    }
}

/// Inputs to start from.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let parts = [text::seeds(), text::seeds_of_changes(), request::seeds(), inside::seeds(), params::seeds()];
    let with_part = |(part, seeds): (u8, Vec<Vec<u8>>)| seeds.into_iter().map(move |seed| [vec![part], seed].concat());
    (0..).zip(parts).flat_map(with_part).collect()
}
