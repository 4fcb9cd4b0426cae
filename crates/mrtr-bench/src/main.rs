//! Speed, as ratios within one run: `cargo xtask bench`.

mod envelope;
mod measure;
mod state;

fn main() {
    println!("{:<58} {:>10} {:>10} {:>7} {:>7}", "comparison", "baseline", "ours", "ratio", "target");
    for comparison in envelope::comparisons().into_iter().chain(state::comparisons()) {
        println!("{comparison}");
    }
}
