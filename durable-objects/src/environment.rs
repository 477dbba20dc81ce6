//! What a core is given besides its store: the time and fresh identifiers.

/// Makes identifiers. In workerd from the system's randomness, in tests from a counter.
pub trait Ids {
    /// A fresh id, matching `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`; never the same twice.
    fn id(&mut self) -> String;

    /// 32 bytes that nobody can guess.
    fn secret(&mut self) -> [u8; 32];
}

/// The time and ids of one command.
pub struct Environment<'a> {
    /// Unix milliseconds. May jump, also backwards, between commands.
    pub now_ms: i64,
    /// Fresh identifiers.
    pub ids: &'a mut (dyn Ids + 'static),
}
