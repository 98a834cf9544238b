//! `gantry restart`: a server of the gateway that runs begins anew.

use clap::Args;
use clap_complete::ArgValueCompleter;

use crate::admin_client::{AdminClient, GatewayTarget, page};
use crate::commands::completions;
use crate::exit::Exit;
use crate::render;

/// What to restart.
#[derive(Debug, Args)]
pub(crate) struct RestartOptions {
    /// Name of the server.
    #[arg(add = ArgValueCompleter::new(completions::servers))]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) reach: GatewayTarget,
}

pub(crate) async fn run(options: &RestartOptions) -> Result<(), Exit> {
    let running = AdminClient::find(&options.reach).await?;
    let server = running.post(&page(&options.name, "/restart")).await?;
    let state = server.get("state").and_then(|it| it.to_text()).unwrap_or_default();
    render::say(&format!("`{}` begins anew; it is {state}", options.name));
    Ok(())
}
