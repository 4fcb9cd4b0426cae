//! Keys from a file, from the environment, or made up.

use std::process::Command;

use mrtr_state::{KeyError, KeyRing, Refusal, Sealer};

use crate::common::{AUDIENCE, CALL, NOON, key};

/// 32 times 1, 2, 3 in base64.
const ONES: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const TWOS: &str = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
/// 32 times 0xfb: the alphabets differ in it.
const STANDARD: &str = "+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/s=";
const URL_SAFE: &str = "-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s";

fn from_file(text: &str) -> Result<Sealer, KeyError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, text).unwrap();
    Sealer::from_file(&path)
}

#[test]
fn a_file_names_the_audience_and_the_keys_the_sealing_one_first() {
    let expected = Sealer::new(KeyRing::new(key("new", 2)).also_opens(key("old", 1)).unwrap(), AUDIENCE).unwrap();
    for text in [
        format!("tracker-eu=new:{TWOS},old:{ONES}"),
        format!("  tracker-eu = new : {TWOS} , old : {ONES}\r\n"),
        format!("tracker-eu=\n  new:{TWOS},\n  old:{ONES}\n"),
        format!("tracker-eu=new:{},old:{}", TWOS.trim_end_matches('='), ONES.trim_end_matches('=')),
    ] {
        let sealer = from_file(&text).unwrap();
        assert_eq!(sealer.audience(), AUDIENCE);
        assert!(CALL.open(&expected, &CALL.seal(&sealer, NOON), NOON).is_ok());
        let state = CALL.seal(&Sealer::new(KeyRing::new(key("old", 1)), AUDIENCE).unwrap(), NOON);
        assert!(CALL.open(&sealer, &state, NOON).is_ok());
        assert_eq!(CALL.open(&sealer, &CALL.seal(&sealer, NOON), NOON).unwrap().key().as_str(), "new");
    }
}

#[test]
fn both_alphabets_of_base64_are_read() {
    let expected = Sealer::new(KeyRing::new(key("k", 0xfb)), AUDIENCE).unwrap();
    for text in [STANDARD, URL_SAFE, STANDARD.trim_end_matches('='), &format!("{URL_SAFE}=")] {
        let sealer = from_file(&format!("tracker-eu=k:{text}")).unwrap();
        assert!(CALL.open(&expected, &CALL.seal(&sealer, NOON), NOON).is_ok(), "{text}");
    }
}

#[test]
fn what_is_wrong_with_keys_is_said_without_the_secret() {
    let cases = [
        (String::new(), "keys are written AUDIENCE=ID:BASE64"),
        (format!("this-process=k:{TWOS}"), "`this-process` is the audience of `Sealer::this_process_only`"),
        (format!("k:{TWOS}"), "keys are written AUDIENCE=ID:BASE64"),
        (format!("k:{}", TWOS.trim_end_matches('=')), "keys are written AUDIENCE=ID:BASE64"),
        (format!("k:{TWOS},old:{ONES}"), "keys are written AUDIENCE=ID:BASE64"),
        (format!("https://tracker.example.com=k:{TWOS}"), "keys are written AUDIENCE=ID:BASE64"),
        (format!("=k:{TWOS}"), "an audience has 1 to 255 bytes"),
        (format!("{}=k:{TWOS}", "a".repeat(256)), "an audience has 1 to 255 bytes"),
        ("tracker-eu=".to_owned(), "a key is written ID:BASE64"),
        (format!("tracker-eu={TWOS}"), "a key is written ID:BASE64"),
        (format!("tracker-eu=k:{TWOS},"), "a key is written ID:BASE64"),
        (format!("tracker-eu=k:{TWOS};old:{ONES}"), "key k is not base64"),
        (format!("tracker-eu=k:{TWOS}\nold:{ONES}"), "key k is not base64"),
        (format!("tracker-eu=k:{}!", &TWOS[..43]), "key k is not base64"),
        (format!("tracker-eu=:{TWOS}"), "a key's name has 1 to 32 of A-Z a-z 0-9 _ -; this one has 0 bytes"),
        (format!("tracker-eu=k 1:{TWOS}"), "this one has 3 bytes"),
        (format!("tracker-eu={}:{TWOS}", "k".repeat(33)), "this one has 33 bytes"),
        // Written the wrong way round, the secret stands where the name belongs.
        (format!("tracker-eu={TWOS}:k"), "this one has 44 bytes"),
        (
            format!("tracker-eu=k:{}", &TWOS[..40]),
            "key k has 30 bytes, and at least 32 are needed: `openssl rand -base64 32` makes one",
        ),
        (
            "tracker-eu=k:".to_owned(),
            "key k has 0 bytes, and at least 32 are needed: `openssl rand -base64 32` makes one",
        ),
        (format!("tracker-eu=k:{TWOS},k:{ONES}"), "the ring has two keys named k"),
    ];
    for (text, says) in cases {
        let error = from_file(&text).expect_err(&text);
        assert!(error.to_string().contains(says), "{text}: {error}");
        assert!(!format!("{error} {error:?}").contains(&TWOS[..8]), "{text}: {error:?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nowhere");
    let error = Sealer::from_file(&path).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
    assert!(matches!(error, KeyError::Unreadable { .. }));
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(matches!(Sealer::from_file(&path), Err(KeyError::Unreadable { .. })), "no text");
}

/// Only another process can have other variables: this test starts itself again with one.
#[test]
fn the_environment_has_the_same_text() {
    const VARIABLE: &str = "MRTR_TEST_STATE_KEYS";
    const ITSELF: &str = "given::the_environment_has_the_same_text";
    match Sealer::from_env(VARIABLE) {
        Ok(sealer) => {
            assert_eq!(sealer.audience(), AUDIENCE);
            let expected = Sealer::new(KeyRing::new(key("k2", 2)), AUDIENCE).unwrap();
            assert!(CALL.open(&expected, &CALL.seal(&sealer, NOON), NOON).is_ok());
        }
        Err(error) => {
            let remedy = format!("`export {VARIABLE}=\"my-server=k1:$(openssl rand -base64 32)\"`");
            assert_eq!(
                error.to_string(),
                format!("the environment variable {VARIABLE} is not set: set it to AUDIENCE=ID:BASE64, as by {remedy}")
            );
            let mut again = Command::new(std::env::current_exe().unwrap());
            let ran = again.args(["--exact", ITSELF]).env(VARIABLE, format!("{AUDIENCE}=k2:{TWOS}")).output().unwrap();
            let said = String::from_utf8_lossy(&ran.stdout);
            assert!(ran.status.success() && said.contains("1 passed"), "{said}");
        }
    }
}

/// Only another process can have other variables: this test starts itself again with one that is not text.
#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_not_told_to_be_missing() {
    use std::os::unix::ffi::OsStrExt;
    const VARIABLE: &str = "MRTR_TEST_KEYS_NO_TEXT";
    const ITSELF: &str = "given::a_variable_that_is_no_text_is_not_told_to_be_missing";
    let told = Sealer::from_env(VARIABLE).unwrap_err().to_string();
    if std::env::var_os(VARIABLE).is_some() {
        assert!(
            told.starts_with(&format!("the environment variable {VARIABLE} is not text in UTF-8: set it")),
            "{told}"
        );
        return;
    }
    assert!(told.starts_with(&format!("the environment variable {VARIABLE} is not set: set it")), "{told}");
    let mut again = Command::new(std::env::current_exe().unwrap());
    let no_text = std::ffi::OsStr::from_bytes(&[0xff, 0xfe]);
    let ran = again.args(["--exact", ITSELF]).env(VARIABLE, no_text).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_key_of_this_process_is_nobody_elses() {
    let one = Sealer::this_process_only();
    let other = Sealer::this_process_only();
    let state = CALL.seal(&one, NOON);
    assert!(CALL.open(&one, &state, NOON).is_ok());
    CALL.refuses(&other, state.untrusted_text(), NOON, Refusal::Forged);
}

/// A store would keep the data of a deployment with that audience as if it died with the process: unsealed.
#[test]
fn no_deployment_has_the_audience_of_one_process() {
    let taken = Sealer::this_process_only();
    let named = Sealer::new(KeyRing::new(key("k", 1)), taken.audience());
    assert!(matches!(named, Err(KeyError::ReservedAudience)));
    assert!(!taken.outlives_process());
    for near in ["this-process ", "This-Process", "this-process-2", "this"] {
        assert!(Sealer::new(KeyRing::new(key("k", 1)), near).unwrap().outlives_process(), "{near}");
    }
}
