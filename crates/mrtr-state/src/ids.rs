//! Random ids: of a flow, and of a sealed state.

use std::fmt;

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
    /// A flow that was kept. Bytes that are not random make ids that can be guessed.
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
