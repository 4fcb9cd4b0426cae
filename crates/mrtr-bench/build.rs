//! Tells the benchmark which compiler built it, and for which target: figures are worth nothing without.

use std::env;
use std::error::Error;
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    let rustc = env::var_os("RUSTC").ok_or("cargo names the compiler")?;
    let version = String::from_utf8(Command::new(rustc).arg("--version").output()?.stdout)?;
    println!("cargo::rustc-env=COMPILER={}", version.trim());
    println!("cargo::rustc-env=TARGET={}", env::var("TARGET")?);
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
