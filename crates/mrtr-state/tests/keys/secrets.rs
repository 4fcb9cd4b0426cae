//! No secret is shown, and none serves two purposes.

use std::sync::{Arc, Mutex};

use mrtr_state::codec::{Codec, SealingKey, Signed, Subkey, XChaCha};
use mrtr_state::{KeyRing, ProcessRandom, Sealer, Timestamp};

use crate::common::{AUDIENCE, CALL, NOON, key};

/// Shows what it was given, as a careless codec might.
#[derive(Debug)]
struct Showing(Arc<Mutex<String>>);

impl Codec for Showing {
    fn letter(&self) -> char {
        'd'
    }

    fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
        *self.0.lock().unwrap() = format!("{key:?}");
        XChaCha::default().with_key(key)
    }
}

#[test]
fn nothing_shows_a_secret() {
    let key = key("k2", 2);
    assert_eq!(format!("{key:?}"), "Key(k2)");
    let ring = KeyRing::new(key).reject_issued_before(Timestamp::from_millis(7));
    assert_eq!(format!("{ring:?}"), "KeyRing { keys: [Key(k2)], cut_off: Some(Timestamp(7)) }");
    let shown = Arc::default();
    let sealer = Sealer::new(ring, AUDIENCE).unwrap().codec(Showing(Arc::clone(&shown)));
    assert_eq!(format!("{sealer:?}"), r#"Sealer { audience: "tracker-eu", keys: [KeyId("k2")], .. }"#);
    assert_eq!(*shown.lock().unwrap(), "Subkey");
    assert_eq!(format!("{:?}", ProcessRandom::new()), "ProcessRandom");
    let opened = CALL.open(&sealer, &CALL.seal(&sealer, NOON), NOON).unwrap();
    assert!(!format!("{opened:?}").contains("tea"), "{opened:?}");
    assert!(!format!("{:?}", CALL.seal(&sealer, NOON)).contains("mrtr1"));
}

/// Gives its key away.
#[derive(Debug)]
struct Leaking(char, Arc<Mutex<Vec<[u8; 32]>>>);

impl Codec for Leaking {
    fn letter(&self) -> char {
        self.0
    }

    fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
        self.1.lock().unwrap().push(*key.as_bytes());
        Signed::default().with_key(key)
    }
}

#[test]
fn each_codec_gets_a_key_of_its_own() {
    let leaked = Arc::default();
    for letter in ['x', 's', 'y'] {
        let leaking = Leaking(letter, Arc::clone(&leaked));
        let sealer = Sealer::new(KeyRing::new(key("k1", 1)), AUDIENCE).unwrap().codec(leaking);
        sealer.replace_keys(KeyRing::new(key("k2", 2)));
    }
    let mut keys = leaked.lock().unwrap().clone();
    keys.extend([[1; 32], [2; 32]]);
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 8, "three letters by two keys, and the keys themselves");
}
