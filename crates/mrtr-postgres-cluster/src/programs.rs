//! Finding the programs, running them as a user that they agree to run as, and taking them down.

use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The folder with PostgreSQL's programs, which distributions keep off the path: that of the newest version.
pub(crate) fn postgres() -> Option<PathBuf> {
    let versions = Path::new("/usr/lib/postgresql").read_dir().ok()?;
    let folders = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    let there = folders.filter(|folder| folder.join("initdb").exists());
    let version = |folder: &PathBuf| folder.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    there.max_by_key(version).or_else(|| on_path("initdb")?.parent().map(Path::to_owned))
}

/// Finds a program by its name.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Makes a command that runs a program as a user other than root, who may not run PostgreSQL.
pub(crate) fn unprivileged(program: impl AsRef<Path>) -> Command {
    let program = program.as_ref();
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command
}

/// Gives a folder to the user as whom [`unprivileged`] runs programs, if this process is root.
pub(crate) fn make_over(folder: &Path) -> io::Result<()> {
    if is_root() {
        run(Command::new("chown").arg("postgres:postgres").arg(folder))?;
    }
    Ok(())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Runs a program to its end. If it fails, the error has its output.
pub(crate) fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(io::Error::other(format!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&said))))
}

/// A port that is free now.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Says on standard error that something was left out since a program is missing. Where `CI` is set, this panics
/// instead.
pub(crate) fn left_out(program: &str) {
    assert!(std::env::var_os("CI").is_none(), "{program} is not installed, and CI leaves nothing out");
    let line = format!("left out: {program} is not installed\n");
    // Not by a macro, whose output the test harness would keep to itself.
    drop(io::stderr().write_all(line.as_bytes()));
}

/// A shell whose script continues once this value is dropped or the process has ended, however it ended.
#[derive(Debug)]
pub(crate) struct Afterwards {
    shell: Child,
    folder: PathBuf,
}

impl Afterwards {
    /// Starts a shell with this script, and removes the folder after it. In a script, `$1` is the folder, and
    /// `wait_for_owner` returns when the owner is gone.
    pub(crate) fn run(script: &str, folder: &Path) -> io::Result<Self> {
        let script = format!("wait_for_owner() {{ cat >/dev/null; }}\n{script}\nrm -rf -- \"$1\"");
        let mut shell = unprivileged("/bin/sh");
        shell.args(["-c", &script, "sh"]).arg(folder).current_dir("/");
        // In a group of its own: an interrupt from the terminal is not meant for it.
        let child = shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { shell: child, folder: folder.to_owned() })
    }
}

impl Drop for Afterwards {
    fn drop(&mut self) {
        // The end of its input is what it waits for.
        drop(self.shell.stdin.take());
        drop(self.shell.wait());
        // The other user may have emptied it and no more, where the folder above it is not that user's to write.
        drop(std::fs::remove_dir(&self.folder));
    }
}
