//! Mistakes in where keys come from.

use std::process::Command;

use mrtr_server::Sealer;

/// Returns the words of an error, which are the same in a log and where `main` returns it.
#[track_caller]
fn words(sealer: Result<Sealer, mrtr_state::KeyError>) -> String {
    let error = sealer.expect_err("there is no key");
    assert_eq!(format!("{error:?}"), error.to_string());
    error.to_string()
}

/// Only another process can have other variables: this test starts itself again with one.
#[test]
fn a_missing_variable_and_a_short_key() {
    const VARIABLE: &str = "MRTR_MISTAKEN_KEYS";
    const ITSELF: &str = "keys::a_missing_variable_and_a_short_key";
    let told = words(Sealer::from_env(VARIABLE));
    if std::env::var_os(VARIABLE).is_some() {
        let remedy = "`openssl rand -base64 32` makes one";
        let short =
            format!("the environment variable {VARIABLE}: key k1 has 5 bytes, and at least 32 are needed: {remedy}");
        assert_eq!(told, short);
        return;
    }
    let remedy = format!("as by `export {VARIABLE}=\"my-server=k1:$(openssl rand -base64 32)\"`");
    let missing = format!("the environment variable {VARIABLE} is not set: set it to AUDIENCE=ID:BASE64, {remedy}");
    assert_eq!(told, missing);
    let mut again = Command::new(std::env::current_exe().unwrap());
    let ran = again.args(["--exact", ITSELF]).env(VARIABLE, "my-server=k1:c2hvcnQ=").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_file_with_a_short_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, "my-server=k1:c2hvcnQ=").unwrap();
    let told = words(Sealer::from_file(&path));
    assert!(told.starts_with(&format!("the key file {}: key k1 has 5 bytes", path.display())), "{told}");
    assert!(told.ends_with("`openssl rand -base64 32` makes one"), "{told}");
}
