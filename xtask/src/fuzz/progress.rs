//! The figures in what libFuzzer prints.

use std::fmt;

/// How far a run has come.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Progress {
    executions: u64,
    per_second: u64,
    coverage: u64,
    /// The files that hold inputs that something failed with.
    pub(crate) findings: Vec<String>,
}

impl Progress {
    /// Takes in one line, if it says anything.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some(number) = figure(line, "stat::number_of_executed_units:") {
            self.executions = number;
        } else if let Some(number) = figure(line, "stat::average_exec_per_sec:") {
            self.per_second = number;
        } else if line.starts_with('#') {
            self.executions = figure(line, "#").unwrap_or(self.executions);
            self.coverage = figure(line, "cov:").unwrap_or(self.coverage);
            self.per_second = figure(line, "exec/s:").unwrap_or(self.per_second);
        } else if let Some((_, path)) = line.split_once("Test unit written to ") {
            self.findings.push(path.trim().to_owned());
        }
    }
}

/// The number that follows a name.
fn figure(line: &str, name: &str) -> Option<u64> {
    let (_, rest) = line.split_once(name)?;
    rest.split_whitespace().next()?.parse().ok()
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executions, per_second, coverage, findings } = self;
        write!(f, "{executions} executions, {per_second} a second, coverage {coverage}, ")?;
        match findings.as_slice() {
            [] => f.write_str("no findings"),
            findings => write!(f, "found {}", findings.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    fn progress(lines: &[&str]) -> String {
        let mut progress = Progress::default();
        for line in lines {
            progress.read(line);
        }
        progress.to_string()
    }

    #[test]
    fn a_run_without_findings() {
        let lines = [
            "INFO: Running with entropic power schedule (0xFF, 100).",
            "#2\tINITED cov: 31 ft: 32 corp: 1/1b exec/s: 0 rss: 41Mb",
            "#65536\tpulse  cov: 812 ft: 2204 corp: 301/14Kb lim: 652 exec/s: 21845 rss: 85Mb",
            "stat::number_of_executed_units: 70001",
            "stat::average_exec_per_sec:     20000",
        ];
        assert_eq!(progress(&lines), "70001 executions, 20000 a second, coverage 812, no findings");
    }

    #[test]
    fn a_finding_ends_it() {
        let lines = [
            "#512\tNEW    cov: 99 ft: 101 corp: 7/90b lim: 4 exec/s: 0 rss: 44Mb L: 4/4",
            "artifact_prefix='./'; Test unit written to ./crash-0f1e",
        ];
        assert_eq!(progress(&lines), "512 executions, 0 a second, coverage 99, found ./crash-0f1e");
    }
}
