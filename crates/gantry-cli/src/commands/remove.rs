//! `gantry remove`: a server less in the configuration.

use clap::Args;
use clap_complete::ArgValueCompleter;
use gantry_providers::suggestion::nearest;

use crate::commands::completions;
use crate::config::editor::{ConfigEditor, ConfigTarget};
use crate::exit::{Code, Exit};
use crate::{admin_client, render};

/// What to remove.
#[derive(Debug, Args)]
pub(crate) struct RemoveOptions {
    /// Name of the server.
    #[arg(add = ArgValueCompleter::new(completions::servers))]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: ConfigTarget,
}

pub(crate) async fn run(options: &RemoveOptions) -> Result<(), Exit> {
    let file = options.target.holding(&options.name)?;
    let mut editor = ConfigEditor::open(file.map_or_else(|| options.target.file(), Ok)?)?;
    if !editor.remove(&options.name)? {
        return Err(unknown(&options.name, &editor));
    }
    editor.save()?;
    render::say(&format!("removed `{}` from {}", options.name, editor.file.display()));
    drop(admin_client::warn_of_unread(&editor.file).await);
    Ok(())
}

/// What to say of a server that is not there.
pub(crate) fn unknown(name: &str, editor: &ConfigEditor) -> Exit {
    let names = editor.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let hint = match nearest(name, &names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`gantry list` shows those there are".to_owned(),
    };
    let text = format!("there is no server `{name}` in {}", editor.file.display());
    Exit::new(Code::NotFound, text).hint(hint)
}
