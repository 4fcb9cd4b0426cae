//! Sealing what a server keeps itself: the same keys, for another purpose.

use crate::codec::NONCE_LENGTH;
use crate::keys::KeyId;
use crate::{Refusal, Sealer};

impl Sealer {
    /// Seals bytes that the server keeps, such as what a task holds, for this purpose and under this id: as another
    /// kind or under another id they do not open. They are confidential whichever codec seals states.
    ///
    /// They have no lifetime: drop an old key from the ring only when the server keeps nothing any more that it sealed.
    ///
    /// ```
    /// use mrtr_state::{Refusal, Sealer};
    ///
    /// let sealer = Sealer::this_process_only();
    /// let kept = sealer.seal_at_rest("com.example/note", b"note-7", b"call Ann");
    /// assert_eq!(sealer.open_at_rest("com.example/note", b"note-7", &kept)?, b"call Ann");
    /// assert_eq!(sealer.open_at_rest("com.example/note", b"note-8", &kept), Err(Refusal::Forged));
    /// # Ok::<(), Refusal>(())
    /// ```
    pub fn seal_at_rest(&self, kind: &str, id: &[u8], bytes: &[u8]) -> Vec<u8> {
        let ring = self.keys.load();
        let key = &ring.keys[0];
        let mut nonce = [0; NONCE_LENGTH];
        self.random.fill(&mut nonce);
        let mut message = Vec::with_capacity(bytes.len() + TAG_LENGTH);
        message.extend_from_slice(bytes);
        key.at_rest.seal(&nonce, &self.bound_to(&key.id, kind, id), &mut message);
        let name = key.id.as_str().as_bytes();
        let mut sealed = Vec::with_capacity(2 + name.len() + NONCE_LENGTH + message.len());
        sealed.push(VERSION);
        sealed.push(u8::try_from(name.len()).expect("a key's id has at most 32 bytes"));
        sealed.extend_from_slice(name);
        sealed.extend_from_slice(&nonce);
        sealed.append(&mut message);
        sealed
    }

    /// Opens what [`seal_at_rest`](Self::seal_at_rest) made of bytes of this kind, under this id.
    pub fn open_at_rest(&self, kind: &str, id: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Refusal> {
        let (&version, rest) = sealed.split_first().ok_or(Refusal::Malformed)?;
        if version != VERSION {
            return Err(Refusal::UnknownFormat);
        }
        let (&length, rest) = rest.split_first().ok_or(Refusal::Malformed)?;
        let (name, rest) = rest.split_at_checked(usize::from(length)).ok_or(Refusal::Malformed)?;
        let (nonce, message) = rest.split_first_chunk::<NONCE_LENGTH>().ok_or(Refusal::Malformed)?;
        let ring = self.keys.load();
        let known = ring.keys.iter().find(|known| known.id.as_str().as_bytes() == name);
        let key = known.ok_or(Refusal::UnknownKey)?;
        let mut message = message.to_vec();
        let opened = key.at_rest.open(nonce, &self.bound_to(&key.id, kind, id), &mut message);
        let length = opened.ok_or(Refusal::Forged)?.len();
        message.truncate(length);
        Ok(message)
    }

    /// The data authenticated beside the bytes: each part with its length, so that no other division gives the same.
    fn bound_to(&self, key: &KeyId, kind: &str, id: &[u8]) -> Vec<u8> {
        let parts = [key.as_str().as_bytes(), self.audience.as_bytes(), kind.as_bytes(), id];
        let mut bound = vec![VERSION];
        for part in parts {
            bound.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bound.extend_from_slice(part);
        }
        bound
    }
}

const VERSION: u8 = 1;
const TAG_LENGTH: usize = 16;
