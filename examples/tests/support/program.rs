//! An example that serves, as a process of its own that is gone when the test is.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

pub(crate) struct Program {
    process: Child,
    address: SocketAddr,
}

impl Program {
    /// Starts it where `with_address` tells it to, and waits until it listens there.
    pub(crate) fn start(path: &str, with_address: impl FnOnce(&mut Command, SocketAddr)) -> Self {
        let address = free_address();
        let mut command = Command::new(path);
        with_address(&mut command, address);
        Self::start_at(address, command)
    }

    /// Starts it, and waits until it listens at the address that it was told or has in it.
    pub(crate) fn start_at(address: SocketAddr, mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let process = command.spawn().expect("the example is built");
        let program = Self { process, address };
        for _ in 0..1000 {
            if TcpStream::connect(address).is_ok() {
                return program;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("the example does not listen");
    }

    #[allow(dead_code, reason = "not every test starts another in its place")]
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Stops it, and gives what it printed.
    #[allow(dead_code, reason = "not every test looks at it")]
    pub(crate) fn stop(mut self) -> String {
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

/// An address that was free just now.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it is bound")
}
