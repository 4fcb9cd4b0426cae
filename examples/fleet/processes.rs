//! The instances as processes: started, killed, started again, and what they say.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use mrtr::prelude::*;
use tokio::sync::mpsc;

/// Instances that are gone when this is.
pub(crate) struct Fleet {
    database: String,
    key: String,
    instances: Vec<Running>,
    speak: mpsc::UnboundedSender<Said>,
    said: mpsc::UnboundedReceiver<Said>,
    /// The lines so far.
    heard: Vec<String>,
}

struct Running {
    name: &'static str,
    process: Child,
    url: String,
}

/// A line of an instance, by its name.
type Said = (&'static str, String);

impl Fleet {
    pub(crate) async fn start(database: &str, key: &str) -> Result<Self> {
        let (speak, said) = mpsc::unbounded_channel();
        let (database, key) = (database.to_owned(), key.to_owned());
        let mut fleet = Self { database, key, instances: Vec::new(), speak, said, heard: Vec::new() };
        for name in NAMES {
            let running = fleet.spawn(name).await?;
            fleet.instances.push(running);
        }
        Ok(fleet)
    }

    /// Starts an instance, and waits until it listens.
    async fn spawn(&mut self, name: &'static str) -> Result<Running> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(name).env("FLEET_DATABASE", &self.database).env("MRTR_STATE_KEYS", &self.key);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(process.stdout.take().ok_or("standard output is piped")?);
        let speak = self.speak.clone();
        std::thread::spawn(move || {
            let mut lines = output.lines().map_while(std::io::Result::ok);
            lines.try_for_each(|line| speak.send((name, line)))
        });
        let mut running = Running { name, process, url: String::new() };
        while running.url.is_empty() {
            if let Some(url) = self.hear().await?.1.strip_prefix("listening on ") {
                url.clone_into(&mut running.url);
            }
        }
        Ok(running)
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.instances.iter().map(|instance| instance.url.clone()).collect()
    }

    async fn hear(&mut self) -> Result<Said> {
        let said = self.said.recv().await.ok_or("no instance is left")?;
        self.heard.push(said.1.clone());
        Ok(said)
    }

    /// Waits until an instance says this, and gives its name.
    pub(crate) async fn wait_for(&mut self, line: &str) -> Result<String> {
        loop {
            let (name, said) = self.hear().await?;
            if said == line {
                return Ok(name.to_owned());
            }
        }
    }

    /// Counts this line before the one that was waited for last.
    pub(crate) fn count(&self, line: &str) -> usize {
        self.heard.iter().filter(|said| *said == line).count()
    }

    /// Kills an instance with -9.
    pub(crate) fn kill(&mut self, name: &str) -> Result<()> {
        let instance = self.instances.iter_mut().find(|instance| instance.name == name);
        let instance = instance.ok_or("there is no such instance")?;
        instance.process.kill()?;
        instance.process.wait()?;
        Ok(())
    }

    pub(crate) async fn replace_those_killed(&mut self) -> Result<()> {
        for (at, name) in NAMES.into_iter().enumerate() {
            if self.instances[at].process.try_wait()?.is_some() {
                self.instances[at] = self.spawn(name).await?;
            }
        }
        Ok(())
    }

    /// Has all instances end in order, and gives all that was said.
    pub(crate) async fn end(mut self) -> Result<Vec<String>> {
        for instance in &mut self.instances {
            drop(instance.process.stdin.take());
        }
        for instance in &mut self.instances {
            instance.process.wait()?;
        }
        let (nobody, _) = mpsc::unbounded_channel();
        self.speak = nobody;
        while let Some((_, line)) = self.said.recv().await {
            self.heard.push(line);
        }
        Ok(std::mem::take(&mut self.heard))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already, which is as well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const NAMES: [&str; 3] = ["one", "two", "three"];
