//! The figures of a soak, and what they must not exceed.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde_json::{Value, json};

use crate::attack::Sent;
use crate::process::Taken;
use crate::samples::Seen;

/// An attack, and its effect on the server and the honest callers.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) sent: Sent,
    /// The most that the server took meanwhile.
    pub(crate) peak: Taken,
    /// The time when it ran.
    pub(crate) time: Range<Duration>,
    /// The exchanges that honest callers were to send meanwhile; replies may have come later.
    pub(crate) honest: Seen,
}

pub(crate) struct Report {
    /// The factor by which limits and large requests were smaller than in a long soak.
    pub(crate) scale: usize,
    /// The time below which a p99 is the machine's noise.
    pub(crate) noise: Duration,
    /// The bytes that the settings allow for.
    pub(crate) stated: u64,
    pub(crate) baseline: Seen,
    pub(crate) rows: Vec<Row>,
    pub(crate) under_attack: Seen,
    pub(crate) before: Taken,
    pub(crate) after: Taken,
    /// None if the server did not give back what the attacks took.
    pub(crate) recovered_after: Option<Duration>,
    pub(crate) still_answers: Seen,
    /// The share of its core that the server used, in the baseline and under attack.
    pub(crate) load: [f64; 2],
}

impl Report {
    /// The most memory that may stay of what attacks took.
    pub(crate) const MAY_STAY: u64 = 64 << 20;
    /// Honest clients may be about to connect anew.
    pub(crate) const FILES_MAY_STAY: usize = 20;

    /// The most memory that the server may take.
    fn bound(&self) -> u64 {
        self.stated + self.stated * 3 / 10 + (64 << 20)
    }

    /// The longest time that one of a hundred honest exchanges may take.
    fn slowest_p99(&self) -> Duration {
        3 * self.baseline.p99.max(self.noise)
    }

    fn peak(&self) -> u64 {
        self.rows.iter().map(|row| row.peak.resident).max().unwrap_or(0)
    }

    /// The limits that do not hold, in words.
    pub(crate) fn violations(&self) -> Vec<String> {
        let mut violations = Vec::new();
        if let Some((caller, refused, exchanges)) = &self.under_attack.worst_caller {
            violations.push(format!("{caller} was refused {refused} times in {exchanges} exchanges"));
        }
        if self.under_attack.p99 > self.slowest_p99() {
            let (p99, allowed) = (milliseconds(self.under_attack.p99), milliseconds(self.slowest_p99()));
            violations.push(format!("the p99 of honest callers was {p99} ms, and {allowed} ms are allowed"));
        }
        for row in self.rows.iter().filter(|row| row.peak.resident > self.bound()) {
            let (peak, allowed) = (mebibytes(row.peak.resident), mebibytes(self.bound()));
            violations.push(format!("{}: the server took {peak} MiB, and {allowed} MiB are allowed", row.name));
        }
        if self.recovered_after.is_none() {
            violations.push(format!(
                "{} MiB and {} descriptors stayed, of {} and {} before",
                mebibytes(self.after.resident),
                self.after.files,
                mebibytes(self.before.resident),
                self.before.files
            ));
        }
        if self.still_answers.exchanges == 0 || self.still_answers.refused > 0 {
            let Seen { exchanges, refused, .. } = self.still_answers;
            violations.push(format!("afterwards, {refused} of {exchanges} exchanges were refused"));
        }
        violations
    }

    pub(crate) fn to_json(&self) -> Value {
        let seen = |seen: &Seen| {
            json!({
                "exchanges": seen.exchanges, "refused": seen.refused, "reasons": seen.reasons,
                "medianMs": seen.median.as_secs_f64() * 1e3, "p99Ms": seen.p99.as_secs_f64() * 1e3,
                "slowestMs": seen.slowest.as_secs_f64() * 1e3,
            })
        };
        let taken = |taken: &Taken| json!({ "resident": taken.resident, "files": taken.files });
        let attacks = self.rows.iter().map(|row| {
            json!({
                "name": row.name, "sent": row.sent, "peak": taken(&row.peak), "honest": seen(&row.honest),
            })
        });
        json!({
            "scale": self.scale, "stated": self.stated, "bound": self.bound(), "peak": self.peak(),
            "baseline": seen(&self.baseline), "underAttack": seen(&self.under_attack),
            "attacks": attacks.collect::<Vec<_>>(),
            "before": taken(&self.before), "after": taken(&self.after),
            "recoveredAfterSeconds": self.recovered_after.map(|time| time.as_secs_f64()),
            "load": self.load,
            "violations": self.violations(),
        })
    }
}

/// Writes a line with the result.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, sent: Sent { requests, refused, .. }, peak, .. } = self;
        write!(f, "{name}: {requests} requests sent, {refused} refused; {} MiB at most", mebibytes(peak.resident))
    }
}

/// Writes the report as Markdown.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| attack | connections | requests | sent | refused | peak memory | honest refused | honest p99 |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        write_row(f, "none (the baseline)", None, self.before, &self.baseline)?;
        for Row { what, sent, peak, honest, .. } in &self.rows {
            write_row(f, what, Some(sent), *peak, honest)?;
        }
        writeln!(f)?;
        let Seen { exchanges, refused, median, p99, slowest, .. } = &self.under_attack;
        writeln!(
            f,
            "Under attack, honest callers had {exchanges} exchanges, of which {refused} were refused: median {} ms, p99 {} \
             ms ({} ms are allowed), slowest {} ms.",
            milliseconds(*median),
            milliseconds(*p99),
            milliseconds(self.slowest_p99()),
            milliseconds(*slowest)
        )?;
        for (reason, count) in self.under_attack.reasons.iter().take(MOST_REASONS) {
            writeln!(f, "- refused {count} times: {reason}")?;
        }
        writeln!(
            f,
            "The server took at most {} MiB ({} MiB are allowed: 1.3 times the {} MiB that its settings state, and 64 MiB).",
            mebibytes(self.peak()),
            mebibytes(self.bound()),
            mebibytes(self.stated)
        )?;
        let [quiet, attacked] = self.load.map(|share| share * 100.0);
        writeln!(
            f,
            "Its core was busy for {quiet:.0} % of the baseline's time, and for {attacked:.0} % under attack."
        )?;
        let recovered = self.recovered_after.map(|time| format!("After {:.1} s", time.as_secs_f64()));
        writeln!(
            f,
            "{} it had {} MiB and {} descriptors, of {} MiB and {} before.",
            recovered.as_deref().unwrap_or("In the end"),
            mebibytes(self.after.resident),
            self.after.files,
            mebibytes(self.before.resident),
            self.before.files
        )
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, what: &str, sent: Option<&Sent>, peak: Taken, seen: &Seen) -> fmt::Result {
    let sent = sent.map_or(["–".to_owned(), "–".to_owned(), "–".to_owned(), "–".to_owned()], |sent| {
        let megabytes = format!("{}.{} MB", sent.bytes / 1_000_000, sent.bytes / 100_000 % 10);
        [sent.connections.to_string(), sent.requests.to_string(), megabytes, sent.refused.to_string()]
    });
    let Seen { exchanges, refused, p99, .. } = seen;
    writeln!(
        f,
        "| {what} | {} | {} MiB | {refused} of {exchanges} | {} ms |",
        sent.join(" | "),
        mebibytes(peak.resident),
        milliseconds(*p99)
    )
}

fn mebibytes(bytes: u64) -> u64 {
    bytes >> 20
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

const MOST_REASONS: usize = 10;
