//! The source of nonces and ids, and the ids.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// A source of random bytes. Nonces come from it: it must never give the same bytes twice.
///
/// ```
/// use std::sync::atomic::{AtomicU8, Ordering};
/// use mrtr_state::{Random, Sealer, Timestamp};
///
/// /// For tests: the same ids in every run.
/// struct Counting(AtomicU8);
///
/// impl Random for Counting {
///     fn fill(&self, bytes: &mut [u8]) {
///         bytes.fill(self.0.fetch_add(1, Ordering::Relaxed));
///     }
/// }
///
/// let sealer = Sealer::this_process_only().random(Counting(AtomicU8::new(1)));
/// assert_eq!(sealer.begin(Timestamp::from_millis(0)).flow().as_bytes(), &[1; 16]);
/// assert_eq!(sealer.begin(Timestamp::from_millis(0)).flow().as_bytes(), &[2; 16]);
/// ```
pub trait Random: Send + Sync {
    /// Fills a buffer.
    fn fill(&self, bytes: &mut [u8]);
}

/// ChaCha20 in this process, seeded by the operating system, seeded anew in a forked child.
///
/// A system call for each nonce would cost more than sealing a small state; a generator that a child shares with its
/// parent would give both the same nonces. Comparing the process id costs a quarter of the former and rules out the
/// latter.
///
/// ```
/// use mrtr_state::{ProcessRandom, Random};
///
/// let random = ProcessRandom::new();
/// let [mut one, mut other] = [[0; 24]; 2];
/// random.fill(&mut one);
/// random.fill(&mut other);
/// assert_ne!(one, other);
/// ```
pub struct ProcessRandom(Mutex<Generator>);

struct Generator {
    process: u32,
    stream: ChaCha20Rng,
}

impl ProcessRandom {
    /// Makes a generator of its own.
    ///
    /// # Panics
    ///
    /// Panics if the operating system has no randomness to give: nothing can be sealed safely then.
    pub fn new() -> Self {
        Self(Mutex::new(Generator::seeded()))
    }
}

impl Generator {
    fn seeded() -> Self {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).expect("the operating system has randomness to give");
        Self { process: std::process::id(), stream: ChaCha20Rng::from_seed(seed) }
    }
}

impl Random for ProcessRandom {
    fn fill(&self, bytes: &mut [u8]) {
        let mut generator = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if generator.process != std::process::id() {
            *generator = Generator::seeded();
        }
        generator.stream.fill_bytes(bytes);
    }
}

impl Default for ProcessRandom {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ProcessRandom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessRandom")
    }
}

macro_rules! random_id {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) [u8; 16]);

        impl $name {
            /// The bytes.
            pub fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

random_id! {
    /// A flow: 128 random bits, the same in all its rounds.
    ///
    /// ```
    /// use mrtr_state::{Sealer, Timestamp};
    ///
    /// let noon = Timestamp::from_millis(1_785_240_000_000);
    /// let sealer = Sealer::this_process_only();
    /// let (one, other) = (sealer.begin(noon).flow(), sealer.begin(noon).flow());
    /// assert_ne!(one, other);
    /// assert_eq!(one.to_string().len(), 32, "in hexadecimal");
    /// ```
    FlowId
}
impl FlowId {
    /// Restores the id of a flow that was kept. Bytes that are not random make ids that can be guessed.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

random_id! {
    /// A sealed state: the first 128 bits of its nonce, which is new each time one is sealed.
    ///
    /// ```
    /// use mrtr_state::SealOptions;
    ///
    #[doc = include_str!("../doc/sealing.txt")]
    /// let first = sealer.open::<Cart>(&sealer.seal(&cart, &binding, noon)?, &binding, noon)?;
    /// let next = sealer.seal_as(&cart, &binding, SealOptions::new(first.next_round()), noon)?;
    /// let next = sealer.open::<Cart>(&next, &binding, noon)?;
    /// assert_eq!(first.progress().flow(), next.progress().flow());
    /// assert_ne!(first.token(), next.token());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    TokenId
}
