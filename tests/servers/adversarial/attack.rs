//! The kinds of attack.

/// One kind. Unless it says otherwise it is the answer to a call of the tool `odd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Attack {
    /// HTTP: headers without end.
    EndlessHeaders,
    /// HTTP: one header without end.
    EndlessHeader,
    /// HTTP: interim responses without end.
    EndlessContinue,
    /// HTTP: a body without end.
    EndlessBody,
    /// HTTP: a body of one byte at a time.
    SlowDrip,
    /// HTTP: more bytes than the length says.
    ShortLength,
    /// HTTP: fewer bytes than the length says.
    LongLength,
    /// HTTP: a chunk whose size is no number that a machine has.
    BadChunk,
    /// HTTP: closed with a reset in the middle of the body.
    Reset,
    /// HTTP: redirected to itself.
    Redirects,
    /// HTTP: events without end.
    EndlessEvents,
    /// HTTP: one event without end.
    HugeEvent,
    /// Nothing, and the connection stays open.
    Hang,
    /// A message far beyond the limit.
    HugeMessage,
    /// A text that is nothing but escapes, as large as a message may be.
    LargeText,
    /// As many small values as a message may hold.
    LargeValues,
    /// Deep nesting.
    Deep,
    /// A batch of a megabyte whose elements are no messages.
    Batch,
    /// Answers to requests that nobody made, without end.
    ForeignIds,
    /// The same answer thousands of times.
    Duplicates,
    /// A result that takes the tool's own schema very long to check.
    ResultBomb,
    /// Notifications without end.
    Notifications,
    /// Notifications without end that the tools have changed, and other tools each time.
    ListChanged,
    /// Requests to the client without end.
    Questions,
    /// Bytes without end that are no text.
    Garbage,
    /// Standard error without end.
    Stderr,
    /// Half a line, and then nothing.
    HalfLine,
    /// The process ends.
    Exits,
    /// When tools are listed: definitions of a megabyte each, on page after page.
    GiantList,
    /// When tools are listed: schemas that take very long to compile.
    SchemaBombs,
}
