//! A test of this program, run again as a user whom modes of files hold back.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

/// Runs a test of this program again with a variable set: as another user, if this one is root.
pub(crate) fn run_again(test: &str, variable: &str, value: &Path, folder: &Path) {
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).unwrap();
    let program = folder.join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = if std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    let output = command.args(["--exact", test, "--nocapture"]).env(variable, value).current_dir("/").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "there is such a test");
}
