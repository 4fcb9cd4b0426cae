//! A program that serves, as a process of its own that is gone when the test is.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A server program that runs until this value is dropped, which kills it.
#[derive(Debug)]
pub struct Program {
    process: Child,
    address: SocketAddr,
}

impl Program {
    /// Starts the program with a free address, which `with_address` adds to its command, and waits until it listens
    /// there.
    pub fn start(path: &str, with_address: impl Fn(&mut Command, SocketAddr)) -> Self {
        let start = || {
            let address = free_address();
            let mut command = Command::new(path);
            with_address(&mut command, address);
            Self::try_at(address, command)
        };
        // Another process may have taken the address before the program gets there.
        (0..5).find_map(|_| start()).expect("the program does not listen")
    }

    /// Starts the program, and waits until it listens at this address, which the command passes on or the program has
    /// built in.
    pub fn start_at(address: SocketAddr, command: Command) -> Self {
        Self::try_at(address, command).expect("the program does not listen")
    }

    /// Starts the program, and waits until it listens. Returns `None` if it ends before that, or does not listen within
    /// ten seconds.
    fn try_at(address: SocketAddr, mut command: Command) -> Option<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let process = command.spawn().expect("the program is built");
        let mut program = Self { process, address };
        for _ in 0..1000 {
            if listens(address) {
                return Some(program);
            }
            if program.process.try_wait().expect("it can be asked").is_some() {
                return None;
            }
            sleep(Duration::from_millis(10));
        }
        None
    }

    /// Returns the address at which the program listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of a path at this program.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Asks the program to end, by `SIGTERM`, as a platform does.
    pub fn terminate(&self) {
        let told = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        assert!(told.expect("there is `kill`").success(), "it runs");
    }

    /// Waits until the program ends, and returns its exit status and what it printed.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let mut printed = String::new();
        let mut output = self.process.stdout.take().expect("standard output is piped");
        output.read_to_string(&mut printed).expect("it prints text");
        (self.process.wait().expect("it ends"), printed)
    }

    /// Kills the program, and returns what it printed.
    pub fn stop(mut self) -> String {
        let mut printed = String::new();
        let mut output = self.process.stdout.take().expect("standard output is piped");
        self.process.kill().expect("it runs");
        output.read_to_string(&mut printed).expect("it prints text");
        printed
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns true if there is a listener. Where there is none yet, the system may make the connection from the very port
/// that it goes to, so that it meets itself: that does not count.
fn listens(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok_and(|stream| stream.local_addr().is_ok_and(|local| local != address))
}

/// An address that was free just now.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it is bound")
}
