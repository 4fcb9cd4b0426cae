//! `mrtr keys`: made for their owner only, and replaced without refusing a client.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use crate::demo::Demo;
use crate::program::{run, run_with};

#[test]
fn keys_are_for_their_owner_only_and_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    run(folder.path(), &["keys", "new", "keys", "--audience", "shop", "--id", "k1"]).says(0, &["keys: key k1 of shop"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let made = fs::read_to_string(&path).unwrap();
    assert!(made.starts_with("shop=k1:") && made.len() == "shop=k1:".len() + 45, "{made}");
    run(folder.path(), &["keys", "new", "keys"]).says(1, &["keys is there already", "mrtr keys rotate keys"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), made);
    run(folder.path(), &["keys", "new", "other", "--id", "a.b"]).says(2, &["a key's name has 1 to 32", "--id 2026-11"]);
    run(folder.path(), &["keys", "new", "other", "--audience", "a=b"]).says(2, &["an audience has"]);
    run(folder.path(), &["keys", "new", "other", "--audience", "this-process"])
        .says(2, &["that of servers without keys", "such as --audience shop-eu"]);
    assert!(!folder.path().join("other").exists());
    let printed = run(folder.path(), &["keys", "new", "--id", "k1"]);
    assert!(printed.out.starts_with("mrtr-demo=k1:") && printed.err.is_empty(), "{}", printed.out);
}

#[test]
fn a_key_is_replaced_in_three_deployments_and_no_call_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["keys", "new", "keys", "--id", "old"]);
    let rotate = |step: &[&str]| run(folder.path(), &[&["keys", "rotate", "keys"], step].concat());
    let serve = |port: &str| Demo::start_with(folder.path(), &["--port", port, "--state-keys", "keys"]);
    let put_down = |demo: &Demo| {
        run(folder.path(), &["call", &demo.url, "weather", "city=Oslo", "--save", "call.json"]).says(4, &[]);
    };
    let goes_on = || {
        let ran = run_with(folder.path(), &["resume", "call.json", "--answers", "-"], r#"{"login": {"user": "ada"}}"#);
        ran.gives("Oslo: 12 °C and light rain. Take an umbrella, ada.\n");
    };
    let demo = serve("0");
    let port = demo.port();
    put_down(&demo);
    demo.kill();
    rotate(&["--step", "promote"]).says(2, &["there is one key, and it seals already"]);
    rotate(&["--step", "drop"]).says(2, &["there is one key: it is not dropped"]);
    let added = ["old seals, ", "deploy it to every instance", "mrtr keys rotate keys --step promote"];
    let promoted = ["seals, old open", "for as long as a state lives (an hour", "mrtr keys rotate keys --step drop"];
    for (step, said) in [(&[][..], added), (&["--step", "promote"], promoted)] {
        rotate(step).says(0, &said);
        let demo = serve(&port);
        goes_on();
        put_down(&demo);
        demo.kill();
    }
    rotate(&[]).says(2, &["of which the first seals", "the newest seals", "--step drop"]);
    rotate(&["--step", "drop"]).says(0, &["the old keys are gone"]);
    let _demo = serve(&port);
    goes_on();
    assert!(!fs::read_to_string(folder.path().join("keys")).unwrap().contains("old:"));
    fs::write(folder.path().join("keys"), "nothing").unwrap();
    rotate(&[]).says(1, &["the keys cannot be used", "mrtr keys new FILE"]);
}

#[test]
fn the_old_key_is_not_dropped_and_the_new_one_promoted_out_of_turn() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["keys", "new", "keys", "--id", "zzz"]);
    let file = || fs::read_to_string(folder.path().join("keys")).unwrap();
    let rotate = |step: &[&str]| run(folder.path(), &[&["keys", "rotate", "keys"], step].concat());
    // Several keys may be added within one second: the newest is known all the same.
    rotate(&["--step", "add"]).says(0, &["zzz seals, "]);
    rotate(&["--step", "add"]).says(0, &["has a key already that does not seal yet; this adds another", "zzz seals, "]);
    let added = file();
    rotate(&["--step", "drop"]).says(2, &["does not seal yet: zzz does", "--step promote", "--step drop"]);
    rotate(&[]).says(2, &["once every instance has the newest key: mrtr keys rotate keys --step promote"]);
    assert_eq!(file(), added, "nothing is dropped");
    let newest = added.trim_end().rsplit(',').next().unwrap().to_owned();
    rotate(&["--step", "promote"]).says(0, &["seals, zzz"]);
    let promoted = file();
    assert!(promoted.starts_with(&format!("mrtr-demo={newest},zzz:")), "{promoted}");
    rotate(&["--step", "promote"]).says(2, &["seals already", "--step drop"]);
    assert_eq!(file(), promoted, "a second promotion does not undo the first");
    rotate(&["--step", "drop"]).says(0, &["the old keys are gone"]);
    assert_eq!(file(), format!("mrtr-demo={newest}\n"));

    // A ring by hand, whose names say nothing.
    let secret = newest.split_once(':').unwrap().1;
    let by_hand = format!("shop=a:{secret},b:{secret}\n");
    fs::write(folder.path().join("keys"), &by_hand).unwrap();
    for step in ["promote", "drop"] {
        rotate(&["--step", step]).says(2, &["do not say which is the newest", "put the new key first", "by hand"]);
    }
    assert_eq!(file(), by_hand);
}

#[test]
fn a_rotated_file_keeps_its_owner_its_mode_and_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    run(folder.path(), &["keys", "new", "keys", "--id", "old"]);
    fs::set_permissions(path("keys"), fs::Permissions::from_mode(0o440)).unwrap();
    // A test that runs as root can give a file away.
    let is_root = fs::metadata(path("keys")).unwrap().uid() == 0;
    if is_root {
        chown(path("keys"), Some(65534), Some(65533)).unwrap();
    }
    let owner = |metadata: fs::Metadata| (metadata.uid(), metadata.gid(), metadata.mode());
    let before = owner(fs::metadata(path("keys")).unwrap());

    symlink("keys", path("link")).unwrap();
    run(folder.path(), &["keys", "rotate", "link"]).says(0, &["old seals, "]);
    assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink(), "the link is still one");
    assert_eq!(owner(fs::metadata(path("keys")).unwrap()), before);
    let added = fs::read_to_string(path("keys")).unwrap();
    assert_eq!(added.matches(',').count(), 1, "there is a second key");

    fs::set_permissions(path("keys"), fs::Permissions::from_mode(0o640)).unwrap();
    let before = owner(fs::metadata(path("keys")).unwrap());
    fs::hard_link(path("keys"), path("other-name")).unwrap();
    run(folder.path(), &["keys", "rotate", "keys", "--step", "promote"]).says(0, &["seals, old open"]);
    run(folder.path(), &["keys", "rotate", "keys", "--step", "drop"]).says(0, &["the old keys are gone"]);
    assert_eq!(fs::metadata(path("keys")).unwrap().nlink(), 2, "they are one file");
    assert_eq!(owner(fs::metadata(path("other-name")).unwrap()), before);
    let dropped = fs::read_to_string(path("other-name")).unwrap();
    let newest = added.trim_end().split(',').nth(1).unwrap();
    assert_eq!(dropped, format!("mrtr-demo={newest}\n"), "and hold the one key");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left beside them");
}
