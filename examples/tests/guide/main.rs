//! The guide keeps its word: each of its blocks is compiled and run, read, or compared with what is really said.
//!
//! A block of Rust stands in a file that is compiled: one of these modules, which test it, an example, or what the
//! benchmark measures of others. The page may lay it out as it likes.
#![allow(clippy::unused_async, reason = "what stands in for a bank or a shop is asked over the network in earnest")]

mod backups;
mod callers;
mod deployment;
mod effects;
mod errors;
mod flows;
mod forms;
mod host_page;
mod hosts;
mod imports;
mod lists;
mod mermaid;
mod own_pages;
mod page;
mod sdk;
mod servers;
mod session;
mod tasks;
mod testing;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use mrtr::prelude::*;
use page::{Block, Page};

#[test]
fn every_block_is_checked_by_what_its_tag_says() {
    let sources = page::sources();
    let blocks = page::all();
    assert!(blocks.len() > 30, "only {} blocks were found", blocks.len());
    let mut wrong = Vec::new();
    for block in blocks {
        let checked = match block.tag {
            "rust" => stands_in(&sources, &block),
            "json" => serde_json::from_str::<Value>(block.text).map(drop).map_err(|error| error.to_string()),
            "toml" => dependencies(&block),
            "sh" => shell(&block),
            "mermaid" => mermaid::check(&block),
            "dockerfile" | "nginx" | "caddyfile" | "ini" | "yaml" => stands_in_configuration(&block),
            tag => Err(format!("there is no check for `{tag}`")),
        };
        if let Err(reason) = checked {
            wrong.push(format!("docs/{}:{}: {reason}", block.page.path, block.line));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn stands_in(sources: &[(String, String)], block: &Block) -> Result<(), String> {
    let bare = page::without_layout(block.text);
    if bare.len() < 20 {
        return Err("it is so short that it stands anywhere".into());
    }
    let is_there = sources.iter().any(|(_, source)| source.contains(&bare));
    if is_there { Ok(()) } else { Err("it stands in no file that is compiled".into()) }
}

/// It is a part of a file in `examples/deployment`, to the letter.
fn stands_in_configuration(block: &Block) -> Result<(), String> {
    let is_there = page::configurations().iter().any(|file| file.contains(block.text));
    if is_there { Ok(()) } else { Err("it stands in no file of `examples/deployment`".into()) }
}

/// The features that it names are there.
fn dependencies(block: &Block) -> Result<(), String> {
    let read = |text: &str| text.parse::<toml::Table>().map_err(|error| error.to_string());
    let (block, facade) = (read(block.text)?, read(include_str!("../../../crates/mrtr/Cargo.toml"))?);
    let wanted = block["dependencies"]["mrtr"]["features"].as_array().ok_or("it names no features of mrtr")?;
    for feature in wanted {
        let name = feature.as_str().ok_or("a feature is text")?;
        if facade["features"].get(name).is_none() {
            return Err(format!("mrtr has no feature `{name}`"));
        }
    }
    Ok(())
}

/// The shell can read it, and a test runs each of its commands, by the page's list.
fn shell(block: &Block) -> Result<(), String> {
    let parsed = Command::new("sh").args(["-n", "-c", block.text]).stdin(Stdio::null()).status();
    if !parsed.map_err(|error| error.to_string())?.success() {
        return Err("the shell cannot read it".into());
    }
    // What is continued on the next line, or in a text in quotes, is one command.
    for command in commands(block.text) {
        let run = block.page.commands.iter().find(|(begins, _)| command.starts_with(begins));
        let Some((_, test)) = run else { return Err(format!("no test runs `{command}`")) };
        if !page::tests().contains(&format!("fn {test}(")) {
            return Err(format!("there is no test `{test}`, which is said to run `{command}`"));
        }
    }
    Ok(())
}

/// Lines, but for empty ones, comments, and those that go on with the one before.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    let mut goes_on = false;
    text.lines().filter(move |line| {
        let begins = !goes_on && !line.is_empty() && !line.starts_with(['#', ' ', '}']);
        goes_on = line.ends_with('\\');
        begins
    })
}

/// Its readers have mrtr and tokio, and nothing else.
#[test]
fn its_own_programs_take_in_mrtr_and_tokio_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guide");
    let pages =
        ["callers", "deployment", "flows", "forms", "host_page", "hosts", "lists", "servers", "tasks", "testing"];
    let of_hosts = ["host_page/calls", "host_page/forms", "host_page/transport"];
    for name in pages.into_iter().chain(of_hosts) {
        let source = std::fs::read_to_string(folder.join(format!("{name}.rs"))).expect("it can be read");
        for line in source.lines().filter(|line| line.starts_with("use ")) {
            let ours = ["use std::", "use mrtr::", "use tokio::", "use crate::", "use super::"];
            assert!(ours.iter().any(|name| line.starts_with(name)), "{name}.rs: {line}");
        }
    }
}

#[test]
fn its_links_lead_somewhere() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let mut followed = BTreeSet::new();
    for Page { path, text, .. } in page::PAGES {
        let page = docs.join(path);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let (file, part) = link.split_once('#').unwrap_or((link, ""));
            if file.starts_with("https://") || !followed.insert((path, link)) {
                continue;
            }
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            assert!(target.exists(), "{path}: {link}");
            if !part.is_empty() {
                let text = std::fs::read_to_string(&target).expect("it can be read");
                let mut headings = text.lines().filter(|line| line.starts_with('#')).map(anchor);
                assert!(headings.any(|heading| heading == part), "{path}: {link}: there is no such heading");
            }
        }
    }
    assert!(followed.len() > 20, "only {} links were found", followed.len());
}

/// The anchor that GitHub makes of a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = |letter: &char| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter);
    text.chars().filter(kept).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}
