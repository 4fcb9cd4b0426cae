//! Which figures are worth a picture, and how they are arranged in it.

use crate::chart::{Chart, Cluster};
use crate::report::{Figure, Group};

/// Charts of one group, in a file.
#[derive(Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) file: &'static str,
    /// For those who cannot see it.
    pub(crate) about: &'static str,
    pub(crate) charts: Vec<Chart>,
}

/// The picture of a group, if it has one.
pub(crate) fn of(group: &Group) -> Option<Picture> {
    let picture = match group.title {
        "Server" => Picture {
            file: "server.svg",
            about: "Shares of what a bare handler serves, by exchange and server, over 64 connections",
            charts: vec![shares(&group.figures)],
        },
        "Growth" => Picture {
            file: "growth.svg",
            about: "What a round takes as its conversation, its journal or its server grows, as a multiple of the first",
            charts: growths(&group.figures),
        },
        _ => return None,
    };
    let is_empty = picture.charts.iter().all(|chart| chart.clusters.is_empty());
    (!is_empty).then_some(picture)
}

/// The exchanges, each with a bar for everybody who serves it.
fn shares(figures: &[Figure]) -> Chart {
    let at_64 = || figures.iter().filter_map(|figure| Some((figure.what.strip_suffix(CONNECTIONS)?, figure)));
    let mut series: Vec<String> = Vec::new();
    let mut exchanges: Vec<&str> = Vec::new();
    for (exchange, figure) in at_64() {
        if !series.contains(&figure.who) {
            series.push(figure.who.clone());
        }
        if !exchanges.contains(&exchange) {
            exchanges.push(exchange);
        }
    }
    let share = |exchange: &str, who: &str| {
        let found = at_64().find(|(other, figure)| *other == exchange && figure.who == who);
        found.and_then(|(_, figure)| figure.ratio.median())
    };
    let cluster = |exchange: &&str| Cluster {
        label: (*exchange).to_owned(),
        bars: series.iter().map(|who| share(exchange, who)).collect(),
    };
    let clusters = exchanges.iter().map(cluster).collect();
    Chart { title: "Replies a second over 64 connections, as a share of bare axum".to_owned(), series, clusters }
}

/// A chart for each row of figures that differ in a number alone.
fn growths(figures: &[Figure]) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    for figure in figures {
        let Some((title, number)) = shape(&figure.what) else { continue };
        let cluster = Cluster { label: number, bars: vec![figure.ratio.median()] };
        match charts.iter_mut().find(|chart| chart.title == title) {
            Some(chart) => chart.clusters.push(cluster),
            None => charts.push(Chart { title, series: vec![figure.who.clone()], clusters: vec![cluster] }),
        }
    }
    charts.retain(|chart| chart.clusters.len() > 1);
    charts
}

/// A text with `N` for its number, and the number.
fn shape(what: &str) -> Option<(String, String)> {
    let start = what.find(|char: char| char.is_ascii_digit())?;
    let length = what[start..].find(|char: char| !char.is_ascii_digit()).unwrap_or(what.len() - start);
    let (before, rest) = what.split_at(start);
    let (number, after) = rest.split_at(length);
    Some((format!("{before}N{after}"), number.to_owned()))
}

const CONNECTIONS: &str = ", 64 connections";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Spread;

    fn group(title: &'static str, figures: &[(&str, &str, f64)]) -> Group {
        let figure = |(what, who, ratio): &(&str, &str, f64)| Figure {
            what: (*what).to_owned(),
            who: (*who).to_owned(),
            ratio: Spread::of(vec![*ratio]).into(),
            target: None,
            absolute: String::new(),
        };
        Group { title, about: "", figures: figures.iter().map(figure).collect() }
    }

    #[test]
    fn shares_stand_by_exchange_and_leave_a_gap_for_who_does_not_serve_it() {
        let figures = [
            ("plain, 1 connections", "bare", 1.0),
            ("plain, 64 connections", "bare", 1.0),
            ("plain, 64 connections", "rmcp", 0.2),
            ("ask, 64 connections", "bare", 1.0),
        ];
        let picture = of(&group("Server", &figures)).unwrap();
        assert_eq!(picture.charts[0].series, ["bare", "rmcp"]);
        let cluster = |label: &str, bars| Cluster { label: label.to_owned(), bars };
        let expected = [cluster("plain", vec![Some(1.0), Some(0.2)]), cluster("ask", vec![Some(1.0), None])];
        assert_eq!(picture.charts[0].clusters, expected);
    }

    #[test]
    fn growth_is_a_chart_for_whatever_differs_in_a_number() {
        let figures = [("1 tools", "us", 1.0), ("10 tools", "us", 1.1), ("32 to 60 KiB", "us", 1.0)];
        let picture = of(&group("Growth", &figures)).unwrap();
        assert_eq!(picture.charts.len(), 1);
        assert_eq!(picture.charts[0].title, "N tools");
        assert_eq!(picture.charts[0].clusters[1].label, "10");
    }

    #[test]
    fn a_group_of_other_figures_has_no_picture() {
        assert_eq!(of(&group("State", &[("seal", "us", 1.0)])), None);
        assert_eq!(of(&group("Server", &[])), None);
    }
}
