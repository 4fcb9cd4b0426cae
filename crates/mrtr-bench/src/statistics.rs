//! Many measurements of one thing, and what they come to.

use serde::Serialize;

/// A median, and how far half of the measurements lie around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    /// A quarter of the measurements lie below.
    pub(crate) low: f64,
    /// A quarter of them lie above.
    pub(crate) high: f64,
}

impl Spread {
    /// Fails if there is nothing to measure by.
    pub(crate) fn of(mut measurements: Vec<f64>) -> Self {
        assert!(!measurements.is_empty(), "a spread of nothing");
        measurements.sort_by(f64::total_cmp);
        let at = |quarter: usize| measurements[(measurements.len() - 1) * quarter / 4];
        Self { median: at(2), low: at(1), high: at(3) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_measurements_lie_around_the_median() {
        let spread = Spread::of(vec![9.0, 1.0, 2.0, 8.0, 5.0]);
        assert_eq!(spread, Spread { median: 5.0, low: 2.0, high: 8.0 });
        assert_eq!(Spread::of(vec![3.0]), Spread { median: 3.0, low: 3.0, high: 3.0 });
    }
}
