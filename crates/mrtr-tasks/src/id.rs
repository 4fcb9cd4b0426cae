//! Ids of tasks, all from one function.

use std::fmt;
use std::str::FromStr;

use mrtr_state::Random;

/// The id of a task: 128 random bits, which are all that protects an anonymous caller's task from another anonymous
/// caller.
///
/// ```
/// use mrtr_state::ProcessRandom;
/// use mrtr_tasks::TaskId;
///
/// let random = ProcessRandom::new();
/// let (one, other) = (TaskId::random(&random), TaskId::random(&random));
/// assert_ne!(one, other);
/// assert_eq!(one.to_string().parse(), Ok(one));
/// assert_eq!(one.to_string().len(), 32, "in hexadecimal");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId([u8; 16]);

impl TaskId {
    /// Makes a new id. Every id of a task is made here.
    pub fn random(random: &dyn Random) -> Self {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        Self(bytes)
    }

    /// Restores an id from the bytes that a store kept.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes of the id.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({self})")
    }
}

/// An error that says that a text is no task's id.
///
/// ```
/// use mrtr_tasks::TaskId;
///
/// assert_eq!("echo".parse::<TaskId>().unwrap_err().to_string(), "no task has such an id");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no task has such an id")]
#[non_exhaustive]
pub struct NoTaskId;

/// Reads an id in its only spelling: 32 hexadecimal digits in lower case.
impl FromStr for TaskId {
    type Err = NoTaskId;

    fn from_str(text: &str) -> Result<Self, NoTaskId> {
        let digits: &[u8; 32] = text.as_bytes().try_into().map_err(|_| NoTaskId)?;
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(NoTaskId),
        };
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}
