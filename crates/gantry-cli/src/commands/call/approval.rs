//! Whoever runs `gantry call` is the user who is asked whether a call may run, and nothing else.

use std::io::{BufRead, IsTerminal, stdin};

use gantry::{Caller, ClientCapabilities, RawJson};
use gantry_gateway::{InputRequestError, PendingInputRequest};
use gantry_policy::approvals::{QUESTION, reply};

use crate::args::GatewayTarget;
use crate::exit::{Code, Exit};
use crate::render;

/// Who answers the questions of a call.
pub(crate) struct ApprovalPrompt {
    /// Whether everything is approved.
    yes: bool,
    /// Whether something was denied because nobody could be asked.
    was_alone: bool,
}

/// The user of this program, who can be asked for an approval: by this process, or by the gateway
/// that is called. Servers behind this process are not told, for their questions are not answered.
pub(crate) fn caller(reach: &GatewayTarget) -> Caller {
    let mut caller = Caller::new("local");
    match reach.url {
        Some(_) => {
            let forms = RawJson::from_static(r#"{"elicitation":{"form":{}}}"#);
            caller.capabilities = ClientCapabilities::read(forms);
        }
        None => caller.capabilities.elicitation_form = true,
    }
    caller
}

impl ApprovalPrompt {
    pub(crate) fn new(yes: bool) -> Self {
        Self { yes, was_alone: false }
    }

    /// Whether an approval can be answered here.
    pub(crate) fn can_answer(&self) -> bool {
        self.yes || stdin().is_terminal()
    }

    /// Answers a question. What a tool asks is not for here.
    pub(crate) async fn answer(&mut self, question: PendingInputRequest) {
        let is_own = question.key == QUESTION || question.key.ends_with(&format!(".{QUESTION}"));
        if !is_own {
            let required = RawJson::from_static(r#"{"elicitation":{}}"#);
            let _ = question.answer.send(Err(InputRequestError::Unsupported { required }));
            return;
        }
        let approve = match self.yes {
            true => Some(true),
            false if stdin().is_terminal() => Some(ask(&question).await),
            false => {
                self.was_alone = true;
                None
            }
        };
        let _ = question.answer.send(Ok(reply(approve)));
    }

    /// Says how the call could have been approved, if nobody could be asked.
    pub(crate) fn advise(&self, exit: Exit, tool: &str) -> Exit {
        match self.was_alone && !exit.message.is_empty() {
            // Whoever refused it, here or far away, did so because nobody said yes.
            true => Exit::new(Code::Refused, exit.message).hint(format!(
                "approve this call with --yes, or trust the tool: `gantry trust grant {tool}`"
            )),
            false if self.is_unasked(&exit) => {
                exit.hint("`--yes` on this command approves the call at once")
            }
            false => exit,
        }
    }

    /// Whether the running gateway waits for an approval that nobody was asked for here.
    fn is_unasked(&self, exit: &Exit) -> bool {
        exit.code == Code::Refused
            && !self.can_answer()
            && exit.message.contains("`gantry approve ")
    }
}

/// Asks on the terminal. Only a clear yes is one.
async fn ask(question: &PendingInputRequest) -> bool {
    let message =
        question.request.params.as_ref().and_then(|params| params.get("message")?.to_text());
    render::say(&message.unwrap_or_default());
    render::say("Run it? [y/N]");
    yes().await
}

/// Reads a line from the terminal: whether it is a yes.
async fn yes() -> bool {
    matches!(said().await.as_deref(), Some("y" | "yes"))
}

/// Reads a line from the terminal, in small letters.
pub(crate) async fn said() -> Option<String> {
    // A read of the terminal cannot be given up, but the program may end while it waits.
    let (tell, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = stdin().lock().read_line(&mut line);
        // Who asked may have gone.
        let _ = tell.send(read.is_ok().then(|| line.trim().to_lowercase()));
    });
    told.await.ok().flatten()
}
