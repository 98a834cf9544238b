//! The ways in which the server is wrong.

/// What it does wrong. Where nothing else is said, it is the tool `odd` that does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Conduct {
    /// Nothing.
    Well,
    /// Results that hold whatever must arrive unchanged.
    Bytes,
    /// Never answers anything, not even a greeting.
    Mute,
    /// Never answers.
    Silent,
    /// Never lists its tools.
    Unlisted,
    /// Lists its tools on pages that come back to the first.
    Circles,
    /// Says fifty thousand things that concern nobody, before its answer.
    Chatter,
    /// Writes 50 MB to standard error, before its answer.
    Shouts,
    /// Answers twice.
    Twice,
    /// Answers requests that nobody made, before its own.
    Strangers,
    /// Says what is no message, before its answer.
    Garbage,
    /// Answers with neither result nor error.
    Hollow,
    /// Answers with a line of 100 MB.
    Flood,
    /// Asks the client before it was called, whenever its tools are listed.
    Asks,
    /// Lists a tool twice.
    Duplicates,
    /// Lists tools whose schemas are none.
    Schemas,
    /// Lists tools whose `x-mcp-header` is not allowed.
    Headers,
    /// Changes its tools while it is called.
    Changes,
    /// Ends while it is called.
    Dies,
    /// Sends every request elsewhere.
    Redirects,
    /// Speaks a revision that nobody knows.
    Strange,
    /// Lists 100,000 tools.
    Crowd,
    /// Fails, and tells what it was configured with.
    Tells,
    /// The same with a result.
    TellsResult,
    /// The same with its greeting.
    TellsGreeting,
    /// Answers with every request that it has had over HTTP, head and body, and gives out a session
    /// and a cookie of its own.
    Recounts,
    /// Answers a call over HTTP with the status that its argument names, and with nothing else. Its
    /// only tool has a name that the contract allows.
    Statuses,
    /// Nothing. Its only tool has a name that the contract allows, says that it is read-only, has an
    /// argument with a default, and answers with its arguments; a template covers every file.
    Contract,
}
