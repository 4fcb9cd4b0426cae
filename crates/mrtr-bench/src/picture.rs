//! Chooses the figures that are worth a picture, and arranges them in it.

use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::{Figure, Group};

/// Charts of one group, in a file.
#[derive(Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) file: &'static str,
    /// The description for readers who cannot see the picture.
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
            about: "The time of a round as its conversation, its journal or its server grows, as a multiple of the first",
            charts: growths(&group.figures),
        },
        _ => return None,
    };
    let is_empty = picture.charts.iter().all(|chart| chart.clusters.is_empty());
    (!is_empty).then_some(picture)
}

/// A chart of the exchanges, each with a bar for every server of it.
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

/// Bars that are compared with each other.
#[derive(Debug, PartialEq)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// The meaning of each bar of a cluster. A single bar needs no legend.
    pub(crate) series: Vec<String>,
    pub(crate) clusters: Vec<Cluster>,
}

/// Bars side by side: one for each series that has a value.
#[derive(Debug, PartialEq)]
pub(crate) struct Cluster {
    pub(crate) label: String,
    pub(crate) bars: Vec<Option<f64>>,
}

/// The charts as SVG, two in a row if there are several.
pub(crate) fn draw(charts: &[Chart]) -> Result<String> {
    let columns = charts.len().clamp(1, 2);
    let rows = charts.len().div_ceil(columns);
    let mut svg = String::new();
    {
        let size = (WIDTH, u32::try_from(rows)? * HEIGHT);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        // Without a background, black text would stand on the colour of the page.
        root.fill(&WHITE)?;
        for (chart, area) in charts.iter().zip(root.split_evenly((rows, columns))) {
            chart.draw(&area)?;
        }
        root.present()?;
    }
    Ok(svg)
}

impl Chart {
    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<()> {
        area.draw(&Text::new(self.title.clone(), (MARGIN, MARGIN), text(16, HPos::Left)))?;
        let legend = if self.series.len() > 1 { self.draw_legend(area)? } else { 0 };
        let (width, height) = area.dim_in_pixel();
        let top = u32::try_from(2 * MARGIN + 20 + legend)?;
        let plot = area.clone().shrink((0, top), (width, height - top));
        self.draw_bars(&plot)
    }

    /// Draws the series below the title, from left to right. Returns its height.
    fn draw_legend(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<i32> {
        let (mut left, top) = (MARGIN, MARGIN + 26);
        for (name, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            area.draw(&Rectangle::new([(left, top), (left + 12, top + 12)], colour.filled()))?;
            area.draw(&Text::new(name.clone(), (left + 18, top), text(13, HPos::Left)))?;
            left += 18 + i32::try_from(name.chars().count())? * 8 + 20;
        }
        Ok(24)
    }

    fn draw_bars(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<()> {
        let highest = self.clusters.iter().flat_map(|cluster| &cluster.bars).flatten().copied().fold(1.0, f64::max);
        let mut chart = ChartBuilder::on(area)
            .margin_right(MARGIN)
            .x_label_area_size(30)
            .y_label_area_size(50)
            .build_cartesian_2d(0.0..as_f64(self.clusters.len()), 0.0..highest * 1.12)?;
        let labels = text(12, HPos::Right);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .y_labels(6)
            .y_label_style(labels)
            .light_line_style(WHITE)
            .draw()?;
        for (place, cluster) in self.clusters.iter().enumerate() {
            let place = as_f64(place);
            // A cluster fills most of its place, and its bars fill the cluster.
            let width = 0.84 / as_f64(self.series.len());
            for (which, (bar, colour)) in cluster.bars.iter().zip(COLOURS.iter().cycle()).enumerate() {
                let Some(value) = bar else { continue };
                let left = place + 0.08 + as_f64(which) * width;
                let corners = [(left, 0.0), (left + width * 0.94, *value)];
                chart.draw_series([Rectangle::new(corners, colour.filled())])?;
                let above = text(11, HPos::Center).pos(Pos::new(HPos::Center, VPos::Bottom));
                chart.draw_series([Text::new(format!("{value:.2}"), (left + width * 0.47, *value), above)])?;
            }
            let (middle, bottom) = chart.backend_coord(&(place + 0.5, 0.0));
            let (left, top) = area.get_base_pixel();
            let below = text(13, HPos::Center);
            area.draw(&Text::new(cluster.label.clone(), (middle - left, bottom - top + 10), below))?;
        }
        Ok(())
    }
}

fn text(size: u32, horizontal: HPos) -> TextStyle<'static> {
    ("sans-serif", size).into_text_style(&(WIDTH, HEIGHT)).color(&BLACK).pos(Pos::new(horizontal, VPos::Top))
}

fn as_f64(number: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "nobody draws that many bars")]
    let number = number as f64;
    number
}

const WIDTH: u32 = 960;
const HEIGHT: u32 = 340;
const MARGIN: i32 = 12;
/// Colours that readers who see few colours can tell apart: the floor, two of ours, two of others.
const COLOURS: [RGBColor; 5] = [
    RGBColor(153, 153, 153),
    RGBColor(86, 180, 233),
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(213, 94, 0),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Spread;

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

    #[test]
    fn every_label_is_drawn_on_white() {
        let cluster = |label: &str, bars| Cluster { label: label.to_owned(), bars };
        let chart = |title: &str, series: &[&str], clusters| Chart {
            title: title.to_owned(),
            series: series.iter().map(ToString::to_string).collect(),
            clusters,
        };
        let charts = [
            chart(
                "Shares",
                &["bare", "ours"],
                vec![cluster("plain", vec![Some(1.0), Some(0.55)]), cluster("ask", vec![None, None])],
            ),
            chart("N tools", &["ours"], vec![cluster("1", vec![Some(1.0)]), cluster("1000", vec![Some(12.34)])]),
            chart("nothing", &[], Vec::new()),
        ];
        let svg = draw(&charts).unwrap();
        for label in ["Shares", "bare", "ours", "plain", "ask", "0.55", "N tools", "1000", "12.34", "#FFFFFF"] {
            assert!(svg.contains(label), "{label} is not in {svg}");
        }
    }
}
