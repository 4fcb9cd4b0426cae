//! SipHash-2-4 with 128 bits of output, from its description: the crate's own comes from a library.

/// Hashes a message under a key.
pub(crate) fn siphash128(key: &[u8; 16], message: &[u8]) -> [u8; 16] {
    let (first, second) = key.split_at(8);
    let (first, second) = (word(first), word(second));
    let mut state = State {
        v0: first ^ 0x736f_6d65_7073_6575,
        v1: second ^ 0x646f_7261_6e64_6f6d ^ 0xee,
        v2: first ^ 0x6c79_6765_6e65_7261,
        v3: second ^ 0x7465_6462_7974_6573,
    };
    let (words, rest) = message.as_chunks::<8>();
    for word in words {
        state.take(u64::from_le_bytes(*word));
    }
    // The last word has the length of the message, of which its highest byte is enough.
    let length = u64::from(message.len().to_le_bytes()[0]);
    state.take(word(rest) | length << 56);
    state.v2 ^= 0xee;
    let first = state.give();
    state.v1 ^= 0xdd;
    let second = state.give();
    (u128::from(second) << 64 | u128::from(first)).to_le_bytes()
}

/// Up to eight bytes, the lowest first.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

struct State {
    v0: u64,
    v1: u64,
    v2: u64,
    v3: u64,
}

impl State {
    fn take(&mut self, word: u64) {
        self.v3 ^= word;
        self.round();
        self.round();
        self.v0 ^= word;
    }

    fn give(&mut self) -> u64 {
        for _ in 0..4 {
            self.round();
        }
        self.v0 ^ self.v1 ^ self.v2 ^ self.v3
    }

    fn round(&mut self) {
        let Self { v0, v1, v2, v3 } = self;
        *v0 = v0.wrapping_add(*v1);
        *v2 = v2.wrapping_add(*v3);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.rotate_left(32).wrapping_add(*v3);
        *v2 = v2.wrapping_add(*v1);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.rotate_left(32);
    }
}
