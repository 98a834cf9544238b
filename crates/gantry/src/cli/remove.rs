//! `gantry remove`: a server less in the configuration.

use clap::Args;
use clap_complete::ArgValueCompleter;
use gantry_providers::tools::manifest::nearest::nearest;

use super::book::{Book, ConfigTarget};
use super::exit::{Code, Exit};
use super::{completions, render, running};

/// What to remove.
#[derive(Debug, Args)]
pub(crate) struct RemoveOptions {
    /// The name of the server.
    #[arg(add = ArgValueCompleter::new(completions::servers))]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: ConfigTarget,
}

pub(crate) async fn run(options: &RemoveOptions) -> Result<(), Exit> {
    let file = options.target.holding(&options.name)?;
    let mut book = Book::open(file.map_or_else(|| options.target.file(), Ok)?)?;
    if !book.remove(&options.name)? {
        return Err(unknown(&options.name, &book));
    }
    book.save()?;
    render::say(&format!("removed `{}` from {}", options.name, book.file.display()));
    running::warn_of_unread(&book.file).await;
    Ok(())
}

/// What to say of a server that is not there.
pub(crate) fn unknown(name: &str, book: &Book) -> Exit {
    let names = book.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let hint = match nearest(name, &names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`gantry list` shows those there are".to_owned(),
    };
    let text = format!("there is no server `{name}` in {}", book.file.display());
    Exit::new(Code::NotFound, text).hint(hint)
}
