//! Changes to bytes, as an input describes them.

/// Makes up to 16 changes, each told by four bytes: what is done, where, and with which byte.
pub(super) fn changed(mut bytes: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    let (changes, _) = changes.as_chunks::<4>();
    for &[verb, high, low, byte] in changes.iter().take(16) {
        let at = usize::from(u16::from_be_bytes([high, low])) % (bytes.len() + 1);
        match verb % 6 {
            0 => bytes[at..].iter_mut().take(1).for_each(|place| *place = byte),
            1 => bytes[at..].iter_mut().take(1).for_each(|place| *place ^= 1 << (byte % 8)),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.truncate(at),
            4 if bytes.len() < LONGEST => bytes.extend_from_within(at..),
            _ => bytes.insert(at, byte),
        }
    }
    bytes
}

/// Doubling stops here: long inputs are slow and find nothing new.
const LONGEST: usize = 4096;
