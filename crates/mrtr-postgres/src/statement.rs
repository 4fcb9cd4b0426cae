//! A statement with the types of its parameters, so that it can be run without being prepared.

use tokio_postgres::types::Type;

use crate::Schema;

#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) types: Box<[Type]>,
}

impl Statement {
    /// In the text, `@` stands for the schema.
    pub(crate) fn new(sql: &str, types: &[Type], schema: &Schema) -> Self {
        Self { sql: sql.replace('@', &format!("\"{schema}\".")), types: types.into() }
    }
}

/// A set of statements, each with its name, the types of its parameters, and its text.
macro_rules! statements {
    ($set:ident: $($(#[$about:meta])* $name:ident($($type:ident),* $(,)?) = $($sql:expr),+;)*) => {
        #[derive(Debug)]
        pub(crate) struct $set {
            $($(#[$about])* pub(crate) $name: $crate::statement::Statement,)*
        }

        impl $set {
            pub(crate) fn new(schema: &$crate::Schema) -> Self {
                use tokio_postgres::types::Type;
                Self {
                    $($name: $crate::statement::Statement::new(concat!($($sql),+), &[$(Type::$type),*], schema),)*
                }
            }

            /// Returns all statements by name, for tests that read their plans.
            #[cfg(test)]
            pub(crate) fn all(&self) -> Vec<(&'static str, &$crate::statement::Statement)> {
                vec![$((stringify!($name), &self.$name)),*]
            }
        }
    };
}

/// The database's time, in milliseconds since 1970, as an expression of SQL.
macro_rules! clock {
    () => {
        "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

pub(crate) use {clock, statements};
